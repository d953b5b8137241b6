"""The oracle: what was promised must be there, and what was not may be."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runner.agent.crash import operations as workloads
from runner.agent.crash.operations import (
    APPEND,
    CREATE,
    DSYNC,
    FDATASYNC,
    FOLDER,
    FSYNC,
    KINDS,
    LINK,
    NONE,
    OVERWRITE,
    RANGE,
    RENAME,
    SYNC,
    SYNCS,
    TRUNCATE,
    UNLINK,
    WRITE,
    Expected,
    Operation,
    carry_out,
    every_pair,
    workload,
)


def numbered(*steps: tuple[Any, ...]) -> list[Operation]:
    """(kind, path, other, offset, length, sync) each."""
    return [replace(Operation(number, *step), seed=5) for number, step in enumerate(steps)]


def lost(
    operations: list[Operation], found: dict[str, bytes], acknowledged: int = -1
) -> list[tuple[str, int]]:
    count = len(operations) if acknowledged < 0 else acknowledged
    return list(Expected(operations, count).lost(found))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_fixed_list_has_every_pair_of_operations() -> None:
    assert set(pairwise(every_pair())) == {(one, other) for one in KINDS for other in KINDS}
    made = workload(1, 0)
    assert len({(one.kind, other.kind) for one, other in pairwise(made)}) == len(KINDS) ** 2
    assert {(one.kind, one.sync) for one in made} == {
        (kind, sync) for kind, syncs in SYNCS.items() for sync in syncs
    }


def test_the_seed_draws_the_rest_and_nothing_else() -> None:
    assert workload(3, 20) == workload(3, 20) != workload(4, 20)
    assert [one.kind for one in workload(3, 0)] == [one.kind for one in workload(4, 0)]
    assert Counter(one.sync for one in workload(3, 20, is_synced=False)) == {
        NONE: len(workload(3, 20))
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_disk_that_keeps_everything_never_loses(tmp_path: Path, seed: int) -> None:
    """Also with the next operation done and not acknowledged."""
    operations = workload(seed, 60)
    for number, operation in enumerate(operations):
        carry_out(operation, str(tmp_path))
        found = contents(tmp_path)
        assert lost(operations, found, number + 1) == []
        assert lost(operations, found, number) == []


def test_a_disk_that_keeps_nothing_loses_at_the_first_promise_and_not_before() -> None:
    operations = workload(1, 0)
    first = next(n for n, one in enumerate(operations) if one.sync in (FOLDER, SYNC))
    assert lost(operations, {}, first) == []
    assert lost(operations, {}, first + 1)
    assert lost(workload(1, 20, is_synced=False), {}) == []


CREATED = (CREATE, "a", "", 0, 0, FOLDER)


def test_content_is_promised_by_fsync_and_not_by_sync_file_range() -> None:
    for sync, is_lost in ((FSYNC, True), (FDATASYNC, True), (DSYNC, True), (RANGE, False)):
        operations = numbered(CREATED, (WRITE, "a", "", 0, 100, sync))
        assert bool(lost(operations, {"a": b""})) is is_lost
        assert lost(operations, {"a": operations[1].content}) == []
        assert lost(operations, {}) == [("a", 0)]


def test_a_name_is_promised_by_fsync_of_its_folder_alone() -> None:
    operations = numbered((CREATE, "a", "", 0, 0, NONE), (APPEND, "a", "", 0, 10, FSYNC))
    assert lost(operations, {}) == []
    assert lost(operations, {"a": b"x" * 10}) == [("a", 1)]


def test_a_rename_over_is_old_or_new_and_never_a_mix() -> None:
    operations = numbered(
        *(CREATED, (WRITE, "a", "", 0, 4096, FSYNC), (CREATE, "b", "", 0, 0, FOLDER)),
        *((WRITE, "b", "", 0, 4096, FSYNC), (RENAME, "b", "a", 0, 0, FOLDER)),
    )
    old, new = operations[1].content, operations[3].content
    in_flight = 4
    assert lost(operations, {"a": old, "b": new}, in_flight) == []
    assert lost(operations, {"a": new}, in_flight) == []
    assert lost(operations, {"a": old[:2048] + new[2048:], "b": new}, in_flight) == [("a", 3)]
    assert lost(operations, {"b": new}, in_flight) == [("a", 0)]
    assert lost(operations, {"a": new}) == []
    assert lost(operations, {"a": old, "b": new}) == [("a", 4), ("b", 4)]


def test_what_changes_after_a_promise_frees_its_own_range_alone() -> None:
    operations = numbered(
        *(CREATED, (WRITE, "a", "", 0, 3000, FSYNC), (OVERWRITE, "a", "", 1000, 500, RANGE))
    )
    kept = operations[1].content
    assert lost(operations, {"a": kept[:1000] + b"?" * 500 + kept[1500:]}) == []
    assert lost(operations, {"a": b"?" + kept[1:]}) == [("a", 1)]
    assert lost(operations, {"a": kept[:2999]}) == [("a", 1)]
    assert lost(operations, {"a": kept + b"?"}) == [("a", 1)]


def test_a_truncated_file_is_between_its_sizes_until_its_sync() -> None:
    steps = (CREATED, (WRITE, "a", "", 0, 3000, FSYNC), (TRUNCATE, "a", "", 1000, 0, NONE))
    kept = numbered(*steps)[1].content
    for size, is_lost in ((999, True), (1000, False), (3000, False), (3001, True)):
        assert bool(lost(numbered(*steps), {"a": (kept + b"?")[:size]})) is is_lost
    synced = numbered(*steps[:2], (TRUNCATE, "a", "", 1000, 0, FDATASYNC))
    assert lost(synced, {"a": kept}) == [("a", 2)]


def test_a_link_is_the_same_file_and_an_unlinked_name_stays_away() -> None:
    operations = numbered(
        *(CREATED, (LINK, "a", "b", 0, 0, FOLDER), (APPEND, "b", "", 0, 10, FSYNC)),
        (UNLINK, "a", "", 0, 0, FOLDER),
    )
    content = operations[2].content
    assert lost(operations, {"b": content}) == []
    assert lost(operations, {"a": content, "b": content}) == [("a", 3)]
    assert lost(operations, {"a": content, "b": content}, 3) == []
    assert lost(operations, {"a": b"", "b": b""}, 3) == [("a", 2), ("b", 2)]


def test_an_acknowledgement_says_what_was_written() -> None:
    [one] = numbered((WRITE, "a", "", 7, 100, FSYNC))
    said = one.acknowledgement()
    assert (said["acknowledged"], said["path"], said["offset"], said["length"]) == (0, "a", 7, 100)
    assert said["sha256"] == workloads.hashlib.sha256(one.content).hexdigest()
