"""What somebody states that the storage of a hardware profile can deliver. Pure."""

import re

_RATE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(K|M|G)i?B/s")
_KB = {"K": 1.0, "M": 1024.0, "G": 1024.0 * 1024.0}
NOT_KNOWN = "unknown"


def parse(text: str) -> float | None:
    """``200MB/s`` in KB/s (1 MB is 1024 KB); None for ``unknown``. Raises ValueError."""
    text = text.strip()
    if text == NOT_KNOWN:
        return None
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text[:40]}" is not a rate: give it as 200MB/s, 1.5GB/s or unknown.')
    rate = float(match[1]) * _KB[match[2]]
    if rate == 0:
        raise ValueError(
            "A rate of 0 is impossible: give what the storage can deliver, or unknown."
        )
    return rate
