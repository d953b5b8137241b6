"""The file systems whose tools a release of Debian has; tests/contenders tries the others."""

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS

PACKAGED = [slug for slug in FILESYSTEMS if slug != "bcachefs"]
