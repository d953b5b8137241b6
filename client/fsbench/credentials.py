"""Which site, and the token for it: from the environment, else from a file of this user alone."""

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

DEFAULT_URL = "http://localhost:8000"


class CredentialsError(Exception):
    """The file of tokens cannot be used; the text says what to do."""


def path() -> Path:
    """The file of tokens."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "fsbench" / "credentials.json"


def chosen_url(option: str = "") -> str:
    """The site that is meant: said, else of the environment, else of the last login.

    Raises CredentialsError where FSBENCH_URL is set and empty: a pipeline's token would go to
    anyone who listens on this machine.
    """
    url = os.environ.get("FSBENCH_URL")
    if not option and url is not None and not url.strip():
        raise CredentialsError(
            "FSBENCH_URL is empty: is the pipeline's variable missing? Set it to the site's "
            "address, or unset it to use the last fsbench login."
        )
    return option or url or str(_read().get("url") or DEFAULT_URL)


def token_for(url: str) -> str:
    """FSBENCH_TOKEN, else the token kept for this very site; "" for none.

    A kept token never goes to another site. Raises CredentialsError where FSBENCH_TOKEN is set and
    empty: so a pipeline's missing secret looks.
    """
    value = os.environ.get("FSBENCH_TOKEN")
    if value is not None and not value.strip():
        raise CredentialsError(
            "FSBENCH_TOKEN is empty: is the pipeline's secret missing? Set it to a token, or "
            "unset it to use the one from fsbench login."
        )
    return value or str(_read().get("tokens", {}).get(url.rstrip("/"), ""))


def keep(url: str, token: str) -> Path:
    """Keep the token for this site, and the site as the one that is meant from now on."""
    data = _read()
    data["url"] = url.rstrip("/")
    data.setdefault("tokens", {})[url.rstrip("/")] = token
    return _write(data)


def forget(url: str) -> bool:
    """Forget the token of this site. False: there was none."""
    data = _read()
    was_kept = data.get("tokens", {}).pop(url.rstrip("/"), None) is not None
    if was_kept:
        _write(data)
    return was_kept


def _read() -> dict[str, Any]:
    try:
        with path().open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_IMODE(mode) & 0o077:
                raise CredentialsError(
                    f"{path()} can be read by others, and holds tokens: chmod 600 {path()}"
                )
            data = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CredentialsError(
            f"{path()} cannot be read ({error}): delete it and log in again."
        ) from None
    if not isinstance(data, dict) or not isinstance(data.get("tokens", {}), dict):
        raise CredentialsError(f"{path()} is not a file of fsbench: delete it and log in again.")
    return data


def _write(data: dict[str, Any]) -> Path:
    """In one piece, and never readable by anybody else, not even for a moment."""
    folder = path().parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)  # 0600
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        Path(name).replace(path())
    except OSError as error:
        raise CredentialsError(f"{path()} cannot be written: {error}") from None
    return path()
