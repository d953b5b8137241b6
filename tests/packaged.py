"""The file systems whose mkfs a release of Debian has; tests/contenders tries the others."""

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS

PACKAGED = [slug for slug in FILESYSTEMS if slug not in ("bcachefs", "zfs")]
