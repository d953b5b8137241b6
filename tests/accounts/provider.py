"""A small OpenID provider on loopback: discovery, keys, codes with PKCE, signed ID tokens.

It is strict where a real one is (a code counts once, for its client, redirect address and PKCE
verifier), and says whatever a test wants it to say.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT_ID, CLIENT_SECRET = "fsbench-test", "a-secret-of-the-tests"
Claims = dict[str, Any]


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """What tests turn: who signs in (``person``), and how an ID token is spoilt (``spoil``)."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.key, self.kid = _key(), "one"
        self.begin()

    def begin(self) -> None:
        """As new, with the key it has: to make one takes longer than a sign-in."""
        self.person: Claims = {"sub": "248289761001", "preferred_username": "jane"}
        self.information: Claims | None = None
        self.spoil: Callable[[Claims], str | None] = lambda claims: None
        self.description: Claims = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.ended: list[str] = []  # the subjects whose sessions were ended
        self.instead: dict[str, tuple[int, bytes]] = {}  # what an address answers, whatever is sent
        self.drips_every_s = 0.0  # between two bytes of a body
        self.header = b""  # if there is any, it is sent with the same pauses before all others

    def metadata(self) -> Claims:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.description,
        }

    def keys(self) -> Claims:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": self.kid, "use": "sig", "alg": "RS256"}]}

    def authorise(self, request: dict[str, str]) -> str:
        """Where the browser is sent after the person agreed."""
        assert request["client_id"] == CLIENT_ID
        assert request["response_type"] == "code"
        assert request["code_challenge_method"] == "S256"
        assert "openid" in request["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = request
        return request["redirect_uri"] + "?" + urlencode({"code": code, "state": request["state"]})

    def token(self, sent: dict[str, str], authorisation: str) -> Claims | None:
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if authorisation != f"Basic {expected}":
            raise PermissionError
        request = self.codes.pop(sent.get("code", ""), None)
        if request is None:
            return None
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            challenge != request["code_challenge"]
            or sent["redirect_uri"] != request["redirect_uri"]
        ):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": request["nonce"],
            **self.person,
        }
        token = self.spoil(claims) or self.signed(claims)
        return {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def exchange(self, sent: dict[str, str], authorisation: str) -> tuple[int, Claims]:
        """Status and answer of the token endpoint."""
        try:
            tokens = self.token(sent, authorisation)
        except PermissionError:
            return 401, {"error": "invalid_client"}
        return (200, tokens) if tokens else (400, {"error": "invalid_grant"})

    def write(self, answer: BinaryIO, content: bytes) -> None:
        """All at once, or byte by byte until whoever asked goes away."""
        with suppress(OSError):
            for part in [bytes([byte]) for byte in content] if self.drips_every_s else [content]:
                answer.write(part)
                time.sleep(self.drips_every_s)

    def end(self, request: dict[str, str], registered: str) -> str | None:
        """Where the browser goes after its session ended (RP-Initiated Logout 1.0); None: nowhere.

        A token of long ago is a hint as good as a fresh one, one that is not ours is none.
        """
        claims = jwt.decode(
            request["id_token_hint"],
            self.key.public_key(),
            algorithms=["RS256"],
            audience=request["client_id"],
            issuer=self.issuer,
            options={"verify_exp": False},
        )
        self.ended.append(claims["sub"])
        back = request.get("post_logout_redirect_uri", "")
        return back if urlsplit(back).path == registered else None

    def signed(self, claims: Claims) -> str:
        return jwt.encode(claims, self.key, "RS256", headers={"kid": self.kid})


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that runs on a thread until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def answer(self, status: int, body: object, **headers: str) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.flush_headers()
            here.write(self.wfile, here.header)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            here.write(self.wfile, content)

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            documents = {"/.well-known/openid-configuration": here.metadata, "/keys": here.keys}
            here.asked.append(parts.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path in here.instead:
                self.answer(*here.instead[parts.path])
            elif parts.path in documents:
                self.answer(200, documents[parts.path]())
            elif parts.path == "/authorize":
                self.answer(302, {}, Location=here.authorise(query))
            elif parts.path == "/userinfo" and self.headers["Authorization"] == "Bearer access":
                self.answer(200, here.information or {"sub": here.person["sub"]})
            elif parts.path == "/end":
                back = here.end(query, "/account/sign-in/")
                self.answer(302 if back else 400, {}, **({"Location": back} if back else {}))
            elif parts.path == "/elsewhere":
                self.answer(302, {}, Location=f"{here.issuer}/keys")
            else:
                self.answer(404, {})

        def do_POST(self) -> None:
            here.asked.append(self.path)
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = {name: values[0] for name, values in parse_qs(text).items()}
            prepared = here.instead.get(self.path)
            self.answer(*prepared or here.exchange(sent, self.headers.get("Authorization", "")))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = Provider(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
