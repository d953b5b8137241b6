"""What stored numbers of each tool are of, by real samples of their output."""

from pathlib import Path

import pytest

from fsbench_web.core.formats import parse
from fsbench_web.core.identity import Identity, covers, data_kb, of_stored, settings_of

SAMPLES = Path(__file__).parents[1] / "formats/samples"
GB = 1024 * 1024


def identities(name: str) -> set[tuple[str, str, int | None, int | None, int | None, bool | None]]:
    """(tool, operation, block, in flight, jobs, direct) of all numbers of a sample."""
    result = parse("x", (SAMPLES / f"{name}.txt").read_bytes())
    found = (of_stored(value.test, value.load, result.modes) for value in result.values)
    return {
        (one.tool, one.operation, one.block_bytes, one.in_flight, one.jobs, one.direct)
        for one in found
        if one is not None
    }


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("sysbench-1.1", {("sysbench", "random_write", 4096, 1, 4, True)}),
        ("sysbench-1.0.20", set()),  # a mix
        (
            "ior-2.10",
            {("ior", way, 262144, 1, 16, False) for way in ("read", "write")},
        ),
        (
            "elbencho-3.1-file-json",
            {("elbencho", way, 65536, 1, 2, False) for way in ("read", "write")},
        ),
        (
            "elbencho-3.1",  # each number has its own block size
            {("elbencho", way, None, 4, 8, True) for way in ("random_read", "write")},
        ),
        ("diskspd-2.2.0", {("diskspd", "random_write", 4096, 16, 4, True)}),
        ("diskspd-2", set()),  # a mix
        ("fio-3.33-json", {("fio", "random_read", 4096, 4, 1, False)}),
        ("fio-3.33-status-interval", set()),  # at a limited rate
        ("fio-3.33-twice", set()),  # a mix
    ],
)
def test_each_tool_says_what_it_did(sample: str, expected: set[object]) -> None:
    assert identities(sample) == expected


def test_only_rates_have_one() -> None:
    for test in ("random_8k_read_clat_p99", "random_8k_read_usr_cpu", "ior_write_max", "write"):
        assert of_stored(test, "iodepth=1") is None


def test_how_large_the_data_were() -> None:
    assert data_kb(["rw=read", "size=2g"]) == 2 * GB
    assert data_kb(["a: size=2g", "b: size=4g"]) is None
    assert data_kb(["2GiB total file size", "128 files, 16MiB each"]) == 2 * GB
    assert data_kb(settings_of({"file_mb": 32})) == 32 * 1024
    assert data_kb(settings_of({"modes": ["direct=1"]})) is None


def test_by_direct_io_the_size_of_a_large_file_is_a_condition() -> None:
    direct, buffered = (
        Identity("fio", "random", "read", 8192, direct=is_direct) for is_direct in (True, False)
    )
    assert covers(direct, 32 * 1024, GB)
    assert covers(direct, None, GB)
    assert not covers(buffered, 32 * 1024, GB)
    assert not covers(buffered, None, GB)
    assert covers(buffered, GB, GB)
    # Many small files are another shape than one large one.
    assert not covers(direct, GB, 16)
    assert covers(direct, 16, 16)
