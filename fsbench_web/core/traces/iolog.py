"""fio's I/O logs (``--write_iolog``), version 2 and 3: fio's HOWTO, "Trace file format"."""

from collections.abc import Iterable

from fsbench_web.core.traces.observed import ObservedWorkload, TraceError

_HEADS = {"fio version 2 iolog": 2, "fio version 3 iolog": 3}
_FILE_ACTIONS = frozenset(("add", "open", "close"))
_SYNCS = frozenset(("sync", "datasync"))
_OTHERS = frozenset(("wait", "trim"))


def recognises(head: list[str]) -> bool:
    """By its first line."""
    return bool(head) and head[0].strip() in _HEADS


def read(lines: Iterable[str]) -> ObservedWorkload:
    """All reads and writes. Raises TraceError."""
    observed = ObservedWorkload("fio iolog")
    version = 0
    for number, line in enumerate(lines, start=1):
        if number == 1:
            version = _HEADS[line.strip()]
            continue
        words = line.split()
        if not words:
            continue
        if version == 3:
            if not words[0].isdecimal():
                raise TraceError(number, "a line of version 3 begins with its time.")
            words = words[1:]
        _line(observed, number, words)
    return observed


def _line(observed: ObservedWorkload, number: int, words: list[str]) -> None:
    # A name may have spaces: the action is what stands behind it.
    places = [index for index in (-3, -1) if len(words) > -index and _is_action(words, index)]
    tail = places[0] if places else 0
    if not tail:
        raise TraceError(number, "it is no action on a file: name, action, offset and length.")
    name, action = " ".join(words[:tail]), words[tail]
    if action in ("read", "write"):
        offset, length = words[-2:]
        is_write = action == "write"
        observed.add(name, number, is_write=is_write, offset=int(offset), length=int(length))
    elif action in _SYNCS:
        observed.file(name, number).is_flushed = True
    elif action in _OTHERS:
        observed.skipped[f"actions {action}"] += 1
    else:
        observed.file(name, number)


def _is_action(words: list[str], place: int) -> bool:
    action = words[place]
    if place == -1:
        return action in _FILE_ACTIONS or action in _SYNCS or action == "wait"
    is_known = action in ("read", "write", "trim", "sync", "datasync", "wait")
    return is_known and all(word.isdecimal() and len(word) < 19 for word in words[-2:])
