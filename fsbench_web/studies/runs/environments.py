"""Environments: what a run ran on. The same facts are one row."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from fsbench_web.catalog.models import Environment

Facts = Mapping[str, Sequence[Sequence[str]]]


def environment_for(facts: Facts, *, kernel: str = "", distribution: str = "") -> Environment:
    """Get or create the environment with these facts: {section: [[label, value], ...]}. NUL, which
    PostgreSQL refuses, becomes U+FFFD.
    """
    identity = {
        "kernel": _clean(kernel)[:200],
        "distribution": _clean(distribution)[:200],
        "facts": {
            _clean(section): [[_clean(text) for text in row] for row in rows]
            for section, rows in facts.items()
        },
    }
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    environment, _ = Environment.objects.get_or_create(
        digest=hashlib.sha256(text.encode()).hexdigest(), defaults=identity
    )
    return environment


def _clean(text: object) -> str:
    return str(text).replace("\x00", "\ufffd")
