"""What statx(2) tells beyond stat(2): when a file was made, and all without asking a server."""

import ctypes
import os

_statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)  # not in one of before 2018


class ExtendedStat(ctypes.Structure):
    """A struct statx, to be read into again and again."""

    _fields_ = (
        *(("mask", ctypes.c_uint32), ("_before_mode", ctypes.c_uint8 * 24)),
        *(("mode", ctypes.c_uint16), ("_spare", ctypes.c_uint16), ("inode", ctypes.c_uint64)),
        *(("_before_made", ctypes.c_uint8 * 40), ("made_s", ctypes.c_int64)),
        *(("made_ns", ctypes.c_uint32), ("_before_node", ctypes.c_uint8 * 36)),
        *(("node_major", ctypes.c_uint32), ("node_minor", ctypes.c_uint32)),
        *(("device_major", ctypes.c_uint32), ("device_minor", ctypes.c_uint32)),
        ("_rest", ctypes.c_uint8 * 112),
    )

    def read(self, path: bytes, flags: int, mask: int, folder: int = -100) -> bool:
        """Read that of a file within the open ``folder`` (-100: as any path, AT_FDCWD)."""
        if _statx is None:
            return False
        return bool(_statx(folder, path, flags, mask, ctypes.byref(self)) == 0)

    @property
    def node(self) -> int:
        """The number of the device that a node is of."""
        return os.makedev(self.node_major, self.node_minor)

    @property
    def device(self) -> int:
        """That of the file system which a file is on."""
        return os.makedev(self.device_major, self.device_minor)
