"""HTTP to one fsbench site.

No redirect is followed, and no proxy of the environment is asked: the token goes to the site that
it was made for, and nowhere else.
"""

import json
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

Query = Mapping[str, Any] | Sequence[tuple[str, Any]]
LONGEST_WAIT_S = 90.0
LONGEST_TIMEOUT_S = 86_400.0
_OVER, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64
"""Of OpenSSL's reasons (X509_V_ERR_...) those that another authority would not mend."""


class Unreachable(Exception):
    """The site does not answer, or something that is not fsbench does."""


class UnexpectedResponse(Unreachable):
    """It answers, and not what this version understands."""


class Problem(Exception):
    """The site refused a call. ``errors`` are its problems, each with its place."""

    def __init__(self, status: int, detail: str, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, list(errors)


class Connection:
    """The address of a site, and calls to its ``/api/v1``.

    ``ca_file`` holds the certificates (PEM) of the authorities to trust instead of the system's.
    Raises ValueError for what is no address, no token, no time or no certificate.
    """

    def __init__(
        self, url: str, token: str = "", timeout_s: float = 60.0, ca_file: str = ""
    ) -> None:
        self.url = url.rstrip("/")
        try:
            parts = httpx.URL(self.url)
        except httpx.InvalidURL:
            raise ValueError(f"{url} is not an address such as https://fsbench.example") from None
        if parts.scheme not in ("http", "https") or not parts.host or parts.userinfo:
            raise ValueError(f"{url} is not an address such as https://fsbench.example")
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise ValueError("The token has invalid characters.")
        if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
            raise ValueError(
                f"{timeout_s:g} is not a valid timeout: give seconds above 0, at most "
                f"{LONGEST_TIMEOUT_S:,.0f}."
            )
        self._host, self._is_https = parts.host, parts.scheme == "https"
        self.token, self._ca_file = token, ca_file
        sent = {"Accept": "application/json, */*;q=0.5", "User-Agent": "fsbench-client"}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            headers=sent,
            timeout=timeout_s,
            verify=_trusting(ca_file) if self._is_https or ca_file else False,
            trust_env=False,
        )

    @property
    def is_plain(self) -> bool:
        """Whether others on the network can read the token."""
        return not self._is_https and self._host not in ("localhost", "127.0.0.1", "::1")

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        form: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One call; ``form`` has the fields (data) and files of a form, as httpx takes them.

        Reads wait and try again where the site asks for that (429, 503), and so do writes that
        came too soon (429), unless they send files. Raises Problem and Unreachable.
        """
        waited = 0.0
        while True:
            answer = self._once(method, path, query, content=body, headers=headers, **(form or {}))
            if answer.status_code < 400:
                return answer
            wait_s = _retry_after(answer)
            may_repeat = method == "GET" or (answer.status_code == 429 and form is None)
            if wait_s is None or not may_repeat or waited + wait_s > LONGEST_WAIT_S:
                raise problem_of(answer)
            time.sleep(wait_s)
            waited += wait_s

    def _once(self, method: str, path: str, query: Query, **sent: Any) -> httpx.Response:
        pairs = [
            (name, value)
            for name, values in (query.items() if isinstance(query, Mapping) else query)
            for value in (values if isinstance(values, list | tuple) else [values])
            if value not in (None, "")
        ]
        try:
            answer = self._http.request(method, f"{self.url}/api/v1{path}", params=pairs, **sent)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if tls_error := _tls_error(error):
                raise Unreachable(self._distrusted(tls_error)) from None
            reason = str(error) or type(error).__name__
            raise Unreachable(
                f"{self.url} cannot be reached: {reason}. Give another address with --url or "
                f"FSBENCH_URL."
            ) from None
        if answer.is_redirect:
            place = answer.headers.get("Location", "elsewhere")
            raise Unreachable(f"{self.url} sends to {place}: give that address instead.")
        return answer

    def _distrusted(self, error: ssl.SSLError) -> str:
        """Why there is no safe connection, and what to do."""
        if not isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"{self.url} does not speak TLS as it should ({error.reason or error}): is its "
                "address http://, or another port?"
            )
        reason = error.verify_message.rstrip(".")
        if error.verify_code in (_OVER, _NOT_YET):
            advice = "Look at this machine's clock; if that is right, ask the site to renew it."
        elif error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
            advice = "Give the address by the name that the certificate is for."
        elif self._ca_file:
            advice = (
                f"It was not signed by an authority of {self._ca_file}: is that the right file?"
            )
        else:
            advice = (
                "If your organisation signs its certificates itself, give the file of its "
                "authority with --ca-file, or FSBENCH_CA_FILE. If not, ask before you go on: "
                "somebody else may be answering."
            )
        return (
            f"The certificate of {self.url} is not trusted ({reason}). {advice} Nothing was "
            "sent to it."
        )


def _trusting(ca_file: str) -> ssl.SSLContext:
    """Raises ValueError where the file holds no certificates."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError:
        raise ValueError(
            f"{ca_file} holds no certificate (PEM, -----BEGIN CERTIFICATE-----): give the file of "
            "the authority that signed the site's."
        ) from None
    except OSError as error:
        raise ValueError(
            f"The file of authorities {ca_file} cannot be read ({error.strerror}): --ca-file or "
            "FSBENCH_CA_FILE names another one."
        ) from None


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The error of TLS behind one of httpx."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def json_of(answer: httpx.Response) -> Any:
    """Raises UnexpectedResponse."""
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):  # nested without end
        raise UnexpectedResponse(
            "The answer is not JSON: is this the address of fsbench?"
        ) from None


def problem_of(answer: httpx.Response) -> Problem | Unreachable:
    """What an error says: fsbench's own problem document, or that it is none."""
    try:
        data = json.loads(answer.content)
        errors = [error for error in data.get("errors", []) if isinstance(error, dict)]
        return Problem(answer.status_code, str(data["detail"]), errors)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind = (
            Unreachable if answer.status_code >= 500 else UnexpectedResponse
        )  # a proxy's, before it
        return kind(f"The answer is {answer.status_code}, and not one of fsbench.")


def _retry_after(answer: httpx.Response) -> float | None:
    text = answer.headers.get("Retry-After", "")
    is_number = text.isascii() and text.isdigit()  # "\N{SUPERSCRIPT TWO}" is a digit, and no number
    return float(text) if answer.status_code in (429, 503) and is_number else None
