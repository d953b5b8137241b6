"""Ask the site on this machine: ``python -m fsbench_web.serving.health_check [live|ready]``.

For containers and services. It reads no settings, so it starts in a tenth of a second.
"""

import json
import os
import sys
import urllib.error
import urllib.request


def ask(which: str) -> tuple[bool, str]:
    """Whether the site at HOST and PORT is well, and what it said."""
    # A name that the site answers to (FSBENCH_ALLOWED_HOSTS), whatever address is asked.
    names = os.environ.get("FSBENCH_ALLOWED_HOSTS", "").split(",")
    plain = [name.strip() for name in names if name.strip() and "*" not in name]
    name = next((name for name in plain if not name.startswith(".")), "localhost")
    host = os.environ.get("HOST") or "127.0.0.1"
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    address = f"http://{host}:{os.environ.get('PORT') or 8000}/api/v1/health/{which}"
    return ask_at(address, name)


def ask_at(address: str, name: str, timeout_s: float = 5) -> tuple[bool, str]:
    """Whether the site is well that is called ``name``, and what it said."""
    request = urllib.request.Request(address, headers={"Host": name})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
            return True, str(json.load(answer))
    except urllib.error.HTTPError as error:
        return False, f"{error.code} {error.read(500).decode(errors='replace')}"
    except (OSError, ValueError) as error:
        return False, f"no answer from {address}: {error}"


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "ready"
    if which not in ("live", "ready"):
        sys.exit("usage: python -m fsbench_web.serving.health_check [live|ready]")
    is_well, message = ask(which)
    sys.exit(0 if is_well else message)
