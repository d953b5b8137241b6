"""What comes before any command: which token, which certificate, how long to wait."""

import http.server
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.conftest import CLIENT, Command

ME = {
    "username": "ada",
    "role": "contributor",
    "teams": [],
    "luns": None,
    "token": {"id": 1, "name": "laptop", "scopes": ["run"], "expires_at": None},
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Knows who anybody is, and a proxy's own error elsewhere."""

    def do_GET(self) -> None:
        is_known = self.path.endswith("/me")
        body = json.dumps(ME).encode() if is_known else b"<html>Bad gateway</html>"
        self.send_response(200 if is_known else 502)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(certificate: Path | None = None) -> Iterator[int]:
    """A server of its own; gives its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        # A client that refuses the certificate is no matter for this process's standard error.
        server.handle_error = lambda *_: None  # type: ignore[method-assign,assignment]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def certificate(folder: Path, name: str) -> Path:
    """Key and certificate of an authority that signs itself, for this name."""
    key, signed, both = (folder / f"{name}.{end}" for end in ("key", "crt", "pem"))
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext"),
            f"subjectAltName={'IP' if name[0].isdigit() else 'DNS'}:{name}",
            *("-keyout", str(key), "-out", str(signed)),
        ],
        check=True,
        capture_output=True,
    )
    both.write_text(key.read_text() + signed.read_text())
    return both


def test_a_certificate_that_is_not_trusted_is_said_in_words(tmp_path: Path) -> None:
    ours, other = certificate(tmp_path, "127.0.0.1"), certificate(tmp_path, "elsewhere.example")
    fsbench = Command("", tmp_path, "fsb_x")
    with answering(ours) as port, answering(other) as other_port:
        url = f"https://127.0.0.1:{port}"
        unknown = fsbench("whoami", "--url", url)
        assert (unknown.returncode, unknown.stdout) == (7, "")
        assert f"The certificate of {url} is not trusted" in unknown.stderr
        assert "--ca-file" in unknown.stderr
        assert "CERTIFICATE_VERIFY_FAILED" not in unknown.stderr
        trusted = fsbench("whoami", "--url", url, "--ca-file", tmp_path / "127.0.0.1.crt")
        assert trusted.returncode == 0, trusted.stderr
        ca_file = str(tmp_path / "127.0.0.1.crt")
        assert fsbench("whoami", "--url", url, FSBENCH_CA_FILE=ca_file).returncode == 0
        login = fsbench("login", "--url", url, "--ca-file", ca_file, stdin="fsb_x\n")
        assert login.returncode == 0, login.stderr
        # Another's authority is none, whatever the system trusts.
        wrong = fsbench("whoami", "--url", url, "--ca-file", tmp_path / "elsewhere.example.crt")
        assert (wrong.returncode, "is that the right file?" in wrong.stderr) == (7, True)
        named = fsbench(
            *("whoami", "--url", f"https://127.0.0.1:{other_port}"),
            *("--ca-file", tmp_path / "elsewhere.example.crt"),
        )
        assert (named.returncode, "by the name that the certificate" in named.stderr) == (7, True)


def test_what_is_no_authority_or_no_tls_is_said_in_words(tmp_path: Path) -> None:
    fsbench = Command("", tmp_path, "fsb_x")
    no_file = fsbench("whoami", "--url", "https://127.0.0.1:9", "--ca-file", "/none/here.pem")
    assert (no_file.returncode, "/none/here.pem cannot be read" in no_file.stderr) == (2, True)
    (tmp_path / "text").write_text("no certificate")
    no_pem = fsbench("whoami", "--url", "https://127.0.0.1:9", "--ca-file", tmp_path / "text")
    assert (no_pem.returncode, "holds no certificate" in no_pem.stderr) == (2, True)
    with answering() as port:
        plain = fsbench("whoami", "--url", f"https://127.0.0.1:{port}")
        assert (plain.returncode, "is its address http://" in plain.stderr) == (7, True)
        # A proxy whose site is away is not the site.
        away = fsbench("list", "runs", "--url", f"http://127.0.0.1:{port}")
        assert (away.returncode, "502" in away.stderr) == (7, True)


def test_an_empty_token_is_not_the_one_that_is_kept(tmp_path: Path) -> None:
    with answering() as port:
        fsbench = Command(f"http://127.0.0.1:{port}", tmp_path)
        assert fsbench("login", stdin="fsb_kept\n").returncode == 0
        assert fsbench("whoami").returncode == 0
        for empty in ("", "  "):
            done = subprocess.run(
                [sys.executable, "-m", "fsbench", "whoami"],
                env={**fsbench.environment(), "PYTHONPATH": str(CLIENT), "FSBENCH_TOKEN": empty},
                capture_output=True,
                text=True,
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert "FSBENCH_TOKEN is empty" in done.stderr


@pytest.mark.parametrize("option", ["--timeout", "--interval"])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_no_time_at_all_is_refused_in_words(tmp_path: Path, option: str, text: str) -> None:
    done = Command("http://127.0.0.1:9", tmp_path)("watch", 3, option, text)
    assert done.returncode == 2
    assert f"'{option}': {text} is no time to wait: say seconds above 0" in done.stderr


@pytest.mark.parametrize("empty", ["", " "])
def test_a_token_goes_nowhere_where_the_address_is_empty(tmp_path: Path, empty: str) -> None:
    """Without it whoever listens on port 8000 of a shared machine would have the token."""
    fsbench = Command("https://fsbench.invalid", tmp_path, "fsb_secret")
    for command, code in ((["whoami"], 2), (["whoami", "--url", "http://127.0.0.1:1"], 7)):
        done = subprocess.run(
            [sys.executable, "-m", "fsbench", *command],
            env={**fsbench.environment(), "FSBENCH_URL": empty},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        assert ("FSBENCH_URL is empty" in done.stderr) == (code == 2)
