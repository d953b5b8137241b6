"""The zip of a sealed file: stored members in a fixed order, without times. Pure.

A sealed zip has one form, so a change of any byte shows. Nothing in it is compressed. Libraries
accept other bytes too, so this module writes and reads it itself. Form: APPNOTE 4.3.
"""

import re
import struct
import zlib
from collections.abc import Mapping
from itertools import zip_longest

from fsbench_web.core.sealed.problems import Unsealed, UnsealedFile

MOST_BYTES = 80 * 1024 * 1024
MOST_MEMBERS = 4000
_NAME = re.compile(r"(?:raw/|tables/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}\Z")
_LOCAL_MARK = b"PK\x03\x04"
_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION, _MIDNIGHT, _FIRST_DAY = 20, 0, 33  # 1980-01-01
_UNIX = 3 << 8 | _VERSION
_LONGEST_NAME = 400
_PLAIN_FILE = 0o100644 << 16


def is_name(text: str) -> bool:
    """Whether a member may be called that: no way out of the folder, nothing hidden."""
    return _NAME.match(text) is not None


def write(members: Mapping[str, bytes]) -> bytes:
    """The zip of these files, in their order."""
    parts, directory, position = [], [], 0
    for name, data in members.items():
        coded = name.encode("ascii")
        facts = (0, 0, _MIDNIGHT, _FIRST_DAY, zlib.crc32(data), len(data), len(data), len(coded), 0)
        head = _LOCAL.pack(_LOCAL_MARK, _VERSION, *facts) + coded
        entry = (b"PK\x01\x02", _UNIX, _VERSION, *facts, 0, 0, 0, _PLAIN_FILE, position)
        directory.append(_ENTRY.pack(*entry) + coded)
        parts += [head, data]
        position += len(head) + len(data)
    size = sum(map(len, directory))
    count = len(directory)
    end = _END.pack(b"PK\x05\x06", 0, 0, count, count, size, position, 0)
    return b"".join((*parts, *directory, end))


def read(data: bytes) -> dict[str, bytes]:
    """The files of a zip that ``write`` made. Raises UnsealedFile with the first that differs."""
    if len(data) > MOST_BYTES:
        raise UnsealedFile(Unsealed("too_large", "", f"{MOST_BYTES // 2**20} MB"))
    listed = _listed(data)
    members: dict[str, bytes] = {}
    position = 0
    while data[position : position + 4] == _LOCAL_MARK:
        if len(members) >= MOST_MEMBERS:
            raise UnsealedFile(Unsealed("too_many_files", "", str(MOST_MEMBERS)))
        name, start, end, problem = _member(data, position)
        if name in members:
            problem = "twice"
        if problem:
            names = {name, *listed[len(members) : len(members) + 1]}
            raise UnsealedFile(*(Unsealed(problem, one) for one in sorted(names)))
        members[name] = data[start:end]
        position = end
    for pair in zip_longest(members, listed):
        if pair[0] != pair[1]:
            raise UnsealedFile(*(Unsealed("not_as_written", one) for one in pair if one))
    if (written := write(members)) != data or not members:
        raise UnsealedFile(Unsealed("not_as_written", _name_at(written, data, members)))
    return members


def _listed(data: bytes) -> list[str]:
    """The names in the directory of the zip, as far as it can be read. Raises UnsealedFile."""
    end = len(data) - _END.size
    if end < 0 or data[end : end + 4] != b"PK\x05\x06":
        raise UnsealedFile(Unsealed("cut_off" if data[:4] == _LOCAL_MARK else "not_zip", ""))
    size, position = _END.unpack_from(data, end)[5:7]
    if position + size != end:
        raise UnsealedFile(Unsealed("not_as_written", ""))
    names: list[str] = []
    while data[position : position + 4] == b"PK\x01\x02" and position + _ENTRY.size <= end:
        length = _ENTRY.unpack_from(data, position)[10]
        start = position + _ENTRY.size
        position = start + length
        names.append(data[start : min(position, start + _LONGEST_NAME)].decode("latin-1"))
        if len(names) > MOST_MEMBERS:
            raise UnsealedFile(Unsealed("too_many_files", "", str(MOST_MEMBERS)))
    return names


def _member(data: bytes, position: int) -> tuple[str, int, int, str]:
    """Name, where the content begins and ends, and what is wrong with it."""
    if position + _LOCAL.size > len(data):
        raise UnsealedFile(Unsealed("cut_off", ""))
    _, _, flags, method, _, _, _, packed, size, length, extra = _LOCAL.unpack_from(data, position)
    begin = position + _LOCAL.size
    start = begin + length
    name = data[begin : min(start, begin + _LONGEST_NAME)].decode("latin-1")
    problem = ""
    if not is_name(name):
        problem = "name"
    elif flags or method or extra or packed != size:
        problem = "packed"
    elif start + size > len(data):
        problem = "cut_off"
    return name, start, start + size, problem


def _name_at(written: bytes, data: bytes, members: Mapping[str, bytes]) -> str:
    """The member at the first byte that differs; "" for the end of the zip."""
    low, high = 0, min(len(written), len(data))
    while low < high:  # the longest beginning that both have
        middle = (low + high + 1) // 2
        low, high = (middle, high) if written[:middle] == data[:middle] else (low, middle - 1)
    position = 0
    sizes = [_LOCAL.size + len(name) + len(content) for name, content in members.items()]
    sizes += [_ENTRY.size + len(name) for name in members]
    for name, size in zip([*members, *members], sizes, strict=True):
        position += size
        if low < position:
            return name
    return ""
