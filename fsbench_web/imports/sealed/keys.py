"""The keys that this installation signs sealed files with: Ed25519.

The private key is a file of the data folder, and each host has its own. The database lists the
public keys of all hosts, also of former ones: older files still verify.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from fsbench_web.accounts import audit
from fsbench_web.core.sealed import envelope
from fsbench_web.imports.models import SigningKey
from fsbench_web.platform import clock, private_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class KeyUnusable(Exception):
    """The private key cannot be read or made; the text says what to do."""


def path() -> Path:
    return Path(settings.DATA_DIR) / "signing-key.pem"


def load(file: str | Path) -> "Ed25519PrivateKey":
    """The private key of a file. Raises KeyUnusable."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(Path(file).read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise KeyUnusable(f"{file} cannot be read as a private key ({error}).") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(f"{file} holds no Ed25519 key.")
    return key


def ensure() -> SigningKey:
    """The key that this host signs with; made, and listed, where there is none.

    Raises KeyUnusable, also where somebody revoked it.
    """
    file = path()
    if not file.exists():
        _make(file)
    pem = envelope.public_pem(load(file))
    key, is_new = SigningKey.objects.get_or_create(
        key_id=envelope.key_id(pem), defaults={"public_pem": pem}
    )
    if is_new:
        audit.note(None, "signing key made", f"key {key}")
    if key.revoked_at is not None:
        raise KeyUnusable("This host's signing key was revoked: manage.py signing_keys rotate")
    return key


def rotate() -> SigningKey:
    """Another key from now on. The old one is retired: its files still verify."""
    file = path()
    if file.exists():
        old = envelope.key_id(envelope.public_pem(load(file)))
        SigningKey.objects.filter(key_id=old, retired_at=None).update(retired_at=clock.now())
        audit.note(None, "signing key retired", f"key {old[:16]}")
        file.unlink()
    return ensure()


def revoke(start: str) -> SigningKey:
    """Say that nobody should trust this key any more. Raises DoesNotExist."""
    key = SigningKey.objects.get(key_id__startswith=start)
    if key.revoked_at is None:
        key.revoked_at = clock.now()
        key.save(update_fields=["revoked_at"])
        audit.note(None, "signing key revoked", f"key {key}")
    return key


def _make(file: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        private_files.write_once(file, pem.decode())
    except OSError as error:
        raise KeyUnusable(f"{file} cannot be written: {error.strerror}.") from None
