"""The order of versions. Pure."""

import re


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Versions in their order: 6.9 before 6.10, and 6.1.0-rc1 before 6.1.0."""
    parts = re.findall(r"\d+|[a-z]+", version.lower())
    key = [(2, int(part)) if part.isdigit() else (0 if part == "rc" else 3, part) for part in parts]
    return (*key, (1, 0))
