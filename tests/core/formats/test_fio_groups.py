"""fio's jobs beside each other: what is said of all of them, of one, and of none."""

from collections.abc import Callable

from fsbench_web.core.formats import parse

Sample = Callable[[str], bytes]


def test_a_group_of_several_jobs_has_the_load_and_the_settings_of_none_of_them(
    sample: Sample,
) -> None:
    data = sample("fio-3.33-group-of-two-jobs")
    result = parse("x", data[: data.index(b"\n}\n") + 3])
    # Two readers at a depth of 8 and three writers at 2; fio gives the options of the writers.
    assert {value.load for value in result.values} == {""}
    assert {"readers_read_iops", "readers_write_iops"} <= {value.test for value in result.values}
    assert "last job of readers: rw=randwrite" in result.modes
    assert "last job of readers: iodepth=2" in result.modes
    assert "line 14: readers is the sum of several jobs" in str(result.warnings[0])


def test_groups_of_several_jobs_at_other_depths_are_no_repeats(sample: Sample) -> None:
    for name, tests in (
        ("fio-3.33-group-of-two-jobs", ("readers_iodepth_2", "readers_iodepth_4")),
        ("fio-3.33-normal-group-of-two-jobs", ("readers_iodepth_8_2", "readers_iodepth_16_2")),
    ):
        values = parse("x", sample(name)).values
        assert {value.repeat for value in values} == {None}
        assert {f"{test}_write_iops" for test in tests} <= {value.test for value in values}


def test_the_ordinary_report_names_the_jobs_of_such_a_group(sample: Sample) -> None:
    data = sample("fio-3.33-normal-group-of-two-jobs")
    result = parse("x", data[: data.index(b"readers: (g=0)", 100)])
    assert {value.load for value in result.values} == {"jobs=5"}
    assert {"readers: rw=randread", "writers: rw=randwrite", "writers: bs=64.0KiB"} <= {
        *result.modes
    }
    assert {"readers: iodepth=8", "writers: iodepth=2"} <= {*result.modes}
    said = [str(warning) for warning in result.warnings]
    assert any("sum of several jobs (readers, writers)" in sentence for sentence in said)


def test_a_job_that_reads_what_it_wrote_to_verify_it_is_one() -> None:
    text = """{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "elapsed": 2,
    "job options": {"rw": "write", "verify": "crc32c", "iodepth": "4"}, "job_runtime": 1500,
    "read": {"io_bytes": 4096, "bw": 4, "iops": 1.0, "total_ios": 1},
    "write": {"io_bytes": 4096, "bw": 4, "iops": 1.0, "total_ios": 1}}]}"""
    values = parse("x", text.encode()).values
    assert {value.load for value in values} == {"iodepth=4"}
    by_others = text.replace('"verify": "crc32c", ', "")
    assert {value.load for value in parse("x", by_others.encode()).values} == {""}


def test_how_busy_the_disk_was_makes_no_repeats_of_depths(sample: Sample) -> None:
    values = parse("x", sample("fio-3.33-two-depths-ungrouped")).values
    assert {value.repeat for value in values} == {None}
    assert {value.load for value in values} == {"iodepth=1,jobs=2", "iodepth=8,jobs=2"}
    busy = {value.load: value.value for value in values if value.test == "fio_disk_util"}
    assert busy == {"iodepth=1,jobs=2": 56.161616, "iodepth=8,jobs=2": 56.211813}


def test_how_busy_the_disk_was_makes_no_repeats_of_block_sizes(sample: Sample) -> None:
    values = parse("x", sample("fio-3.33-two-block-sizes-and-disk")).values
    assert {value.repeat for value in values} == {None}
    busy = {value.test: value.value for value in values if value.test.endswith("_disk_util")}
    assert busy == {
        "random_4k_read_disk_util": 38.842975,
        "random_64k_read_disk_util": 47.42268,
    }


def test_settings_of_two_jobs_of_one_name_are_said_of_each(sample: Sample) -> None:
    data = sample("fio-3.33-two-jobs-of-one-name")
    modes = {*parse("x", data).modes}
    assert {"a: rw=write", "a: bs=4k", "a.2: rw=read", "a.2: bs=64k"} <= modes
    assert not any(mode.startswith("rw=") for mode in modes)
    # Processes of one job have the same ones.
    alike = parse("x", data.replace(b'"read"', b'"write"').replace(b'"64k"', b'"4k"'))
    assert {"rw=write", "bs=4k"} <= {*alike.modes}


def test_a_job_that_did_nothing_is_said_to_be_missing(sample: Sample) -> None:
    data = sample("fio-3.33-two-jobs-of-one-name")
    assert not any("did no I/O" in str(warning) for warning in parse("x", data).warnings)
    begin = data.index(b'"write" : {')
    idle = data[:begin] + data[begin:].replace(b'"io_bytes" : ', b'"io_bytes" : 0, "was" : ', 1)
    result = parse("x", idle)
    assert "a_write_iops" not in {value.test for value in result.values}
    assert any("Job a did no I/O" in str(warning) for warning in result.warnings)


def test_the_ordinary_report_of_two_jobs_of_one_name(sample: Sample) -> None:
    data = sample("fio-3.33-normal-two-jobs-of-one-name")
    result = parse("x", data)
    assert {"a: rw=write", "a: bs=4096B", "a.2: rw=read", "a.2: bs=64.0KiB"} <= {*result.modes}
    # Each is one process, and no two of one job.
    assert {value.load for value in result.values} == {"iodepth=1,jobs=1"}
    assert {"a_write_iops", "a.2_read_iops"} <= {value.test for value in result.values}
    first_plan = data[: data.index(b"\n") + 1]
    killed = first_plan.replace(b"rw=write", b"rw=randwrite") + b"fio-3.33\n"
    assert parse("x", killed + data).modes == result.modes


def test_a_name_of_all_jobs_makes_no_sum_of_one() -> None:
    text = """{"fio version": "fio-3.33", "global options": {"name": "zns-fio", "iodepth": "4"},
    "jobs": [{"jobname": "hot-file", "elapsed": 2,
    "job options": {"rw": "write", "numjobs": "8"}, "job_runtime": 12000,
    "write": {"io_bytes": 4096, "bw": 4, "iops": 1.0, "total_ios": 1}}]}"""
    result = parse("x", text.encode())
    assert {value.load for value in result.values} == {"iodepth=4,jobs=8"}
    name = "sequential_4k_buffered_psync_write"
    assert {value.test for value in result.values} == {f"{name}_bw", f"{name}_iops"}
    assert result.warnings == []
    own = text.replace('"rw": "write"', '"rw": "write", "name": "another"')
    assert {value.load for value in parse("x", own.encode()).values} == {""}
