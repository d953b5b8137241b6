"""``Idempotency-Key``: a job that is sent again is the same job (draft-ietf-httpapi-
idempotency-key-header). Keys are an account's own, and those of each call apart.
"""

import hashlib
import json
from typing import Annotated

from django.contrib.auth.models import User
from ninja import Header, Schema

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="any text, new for each job: sent again with the same body, the call makes "
        "nothing new and answers with the first one's runs; with another body it is refused",
    ),
]


def token(call: str, user: User, key: str) -> str:
    """What ``studies.jobs.submitting.submit`` knows the job by; "" without a key.

    ``call`` tells the calls that take keys apart; "" is that which was first.
    """
    parts = [part for part in (call, str(user.pk), key) if part]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if key else ""


def digest(body: Schema) -> str:
    """The same for bodies that say the same, however they are written."""
    values = body.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
