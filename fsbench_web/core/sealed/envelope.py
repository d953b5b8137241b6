"""The signed part: a DSSE envelope around an in-toto Statement v1. Pure.

``cryptography`` is imported where it is used: comparing files works without it.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fsbench_web.core.sealed.problems import Unsealed, UnsealedFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME = "attestation.dsse.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MOST_BYTES = 48 * 1024 * 1024
PREDICATE_TYPE = "urn:fsbench:sealed-runs:v1"


def as_json(value: Any) -> bytes:
    """JSON with one form for each value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def key_id(pem: str) -> str:
    """The SHA-256 of a public key (SubjectPublicKeyInfo), in hex. Raises ValueError."""
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    return hashlib.sha256(base64.b64decode(body, validate=True)).hexdigest()


def public_pem(private: "Ed25519PrivateKey") -> str:
    """The public key of a private one, as PEM."""
    from cryptography.hazmat.primitives import serialization

    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return private.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def pre_authentication(payload: bytes) -> bytes:
    """What is signed (PAE of DSSE v1.0.2)."""
    head = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} "
    return head.encode() + payload


def sign(subjects: Mapping[str, str], predicate: Any, private: "Ed25519PrivateKey") -> bytes:
    """The envelope; ``subjects`` are SHA-256 by file. The predicate gets the public key."""
    pem = public_pem(private)
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": sha}} for name, sha in subjects.items()],
        "predicateType": PREDICATE_TYPE,
        "predicate": {**predicate, "public_key": pem},
    }
    payload = as_json(statement)
    return _envelope(payload, key_id(pem), private.sign(pre_authentication(payload)))


def _envelope(payload: bytes, key: str, signature: bytes) -> bytes:
    signatures = [{"keyid": key, "sig": base64.b64encode(signature).decode()}]
    coded = base64.b64encode(payload).decode()
    return as_json({"payload": coded, "payloadType": PAYLOAD_TYPE, "signatures": signatures})


def verify(envelope: bytes) -> tuple[dict[str, str], dict[str, Any], str]:
    """Digests by file, predicate and key of an envelope that its own key signed.

    Whether that key is trusted is another question. Raises UnsealedFile.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if len(envelope) > MOST_BYTES:
        raise UnsealedFile(Unsealed("too_large", NAME, f"{MOST_BYTES // 2**20} MB"))
    try:
        outer = json.loads(envelope)
        payload = base64.b64decode(outer["payload"], validate=True)
        [signed] = outer["signatures"]
        signature = base64.b64decode(signed["sig"], validate=True)
        statement = json.loads(payload)
        predicate = statement["predicate"]
        subjects = {row["name"]: row["digest"]["sha256"] for row in statement["subject"]}
        pem, key = predicate["public_key"], signed["keyid"]
        is_known = (statement["_type"], statement["predicateType"]) == (
            STATEMENT_TYPE,
            PREDICATE_TYPE,
        )
        public = load_pem_public_key(pem.encode())
        is_whole = key == key_id(pem) and envelope == _envelope(payload, key, signature)
        if not (is_known and isinstance(public, Ed25519PublicKey)):
            raise UnsealedFile(Unsealed("form", NAME))
        public.verify(signature, pre_authentication(payload))
    except InvalidSignature:
        raise UnsealedFile(Unsealed("signature", NAME)) from None
    except UnsealedFile:
        raise
    except (
        *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
        *(binascii.Error, UnsupportedAlgorithm),
    ):
        raise UnsealedFile(Unsealed("form", NAME)) from None
    if not is_whole:
        raise UnsealedFile(Unsealed("not_as_written", NAME))
    return subjects, predicate, key
