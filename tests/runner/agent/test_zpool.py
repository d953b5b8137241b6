"""What the agent does for pools, on what OpenZFS 2.1.11 has printed in a guest."""

import os
import stat
from pathlib import Path

import pytest

from runner.agent.preparation import zpool

STATUS = """  pool: fsbench
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\tfsbench     ONLINE       0     0     0
\t  mirror-0  ONLINE       0     0     0
\t    vda     ONLINE       0     0     0
\t    vdb     ONLINE       0     0     0
\tlogs\t
\t  vdc       ONLINE       0     0     0
\tcache
\t  vdd       ONLINE       0     0     0

errors: No known data errors
"""
ARC_STATS = """13 1 0x01 123 33456 22149426 27854448
name                            type data
hits                            4    1234
c_min                           4    33554432
c_max                           4    134217728
"""


def test_a_whole_pool_has_no_problem() -> None:
    assert zpool.problems(STATUS) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("    vdb     ONLINE       0     0     0", "    vdb     FAULTED 0 0 0", ["vdb FAULTED"]),
        (
            "    vda     ONLINE       0     0     0",
            "    vda     ONLINE       1     2     37",
            ["vda 1 wrong reads, 2 wrong writes, 37 wrong checksums"],
        ),
        (
            "  vdc       ONLINE       0     0     0",
            "  vdc       UNAVAIL      0     0     0  cannot open",
            ["vdc UNAVAIL"],
        ),
        ("state: ONLINE", "state: DEGRADED", ["zpool status does not say that it is ONLINE"]),
    ],
)
def test_a_device_that_is_away_or_wrong_is_named(before: str, after: str, words: list[str]) -> None:
    assert before in STATUS
    assert zpool.problems(STATUS.replace(before, after)) == words


def test_what_prints_nothing_is_not_taken_for_whole() -> None:
    assert zpool.problems("") != []


def test_a_limit_that_zfs_does_not_keep_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limit, stats = tmp_path / "zfs_arc_max", tmp_path / "arcstats"
    stats.write_text(ARC_STATS)
    monkeypatch.setattr(zpool, "ARC_MAX", limit)
    monkeypatch.setattr(zpool, "ARC_STATS", stats)
    assert zpool.main(["arc", "128"]) == 0
    assert limit.read_text() == "134217728"
    assert zpool.main(["arc", "64"]) == 1
    assert "keeps to 128 MiB" in capsys.readouterr().err


def test_the_limit_that_is_kept_to_is_told_where_zfs_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = tmp_path / "arcstats"
    monkeypatch.setattr(zpool, "ARC_STATS", stats)
    assert zpool.arc_limit() == {}
    stats.write_text(ARC_STATS)
    assert zpool.arc_limit() == {"arc_max_bytes": 128 * 2**20}


def test_devices_get_other_names_and_nothing_else_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes: list[tuple[Path, int, int]] = []
    monkeypatch.setattr(os, "mknod", lambda *node: nodes.append(node))
    folder = tmp_path / "nodes"
    folder.mkdir()
    (folder / "sda").write_text("left")
    zpool.make_nodes(folder, ["/dev/null"])
    assert list(folder.iterdir()) == []
    number = Path("/dev/null").stat().st_rdev
    assert nodes == [(folder / "null", stat.S_IFBLK | 0o600, number)]


def test_a_missing_device_and_an_unknown_word_end_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zpool.main(["nodes", str(tmp_path / "n"), str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
    assert zpool.main(["what"]) == 2
