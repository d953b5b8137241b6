"""Traces as parts of a work profile.

Samples: ``db.v3.iolog`` was written by fio 3.33 (--write_iolog), ``threads.strace`` by strace 6.1
(-f -T -tt) of a program with two threads, both on the machine where these tests were written.
``sda.blkparse`` is from blktrace's own user guide (doc/blktrace.tex, as kept in sdsc/blktrace), the
biosnoop samples from tools/biosnoop_example.txt of iovisor/bcc.
"""

from pathlib import Path

import pytest

from fsbench_web.core.traces import observed as limits
from fsbench_web.core.traces import strace
from fsbench_web.core.traces.observed import ReadParts, TraceError, parts_of, power_kb
from fsbench_web.core.traces.reading import observed

SAMPLES = Path(__file__).parent / "samples"


HEAD = b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def words_and_weights(read_parts: ReadParts) -> list[tuple[str, float]]:
    return [(part.words, part.weight) for part in read_parts.parts]


def test_an_iolog_of_fio_is_the_job_that_wrote_it():
    """rw=randrw, rwmixread=70, bs=8k, size=4m, fsync=8, number_ios=60."""
    read_parts = parts_of(observed(sample("db.v3.iolog")))
    assert words_and_weights(read_parts) == [
        ("Random read, 8 KB in files of 4 MB", 66.7),
        ("Random write, 8 KB in files of 4 MB, flushed", 33.3),
    ]
    assert read_parts.notes == (
        "fio iolog: 60 reads and writes of 1 files, weighed by operations.",
    )


def test_version_2_is_the_same_without_times():
    """As fio 2 writes it (iolog.c, log_io_u: name, action, offset, length)."""
    head, *lines = sample("db.v3.iolog").decode().splitlines()
    second = [head.replace("3", "2"), *(line.partition(" ")[2] for line in lines)]
    by_two = parts_of(observed("\n".join(second).encode()))
    assert by_two == parts_of(observed(sample("db.v3.iolog")))


def test_strace_follows_files_over_threads_and_interrupted_calls():
    trace = observed(sample("threads.strace"))
    read_parts = parts_of(trace)
    # Two writes of 64 KB, then 8 reads and 8 writes of 8 KB at places, then 8 KB from the start.
    assert trace.count == 2 + 16 + 2
    assert dict(words_and_weights(read_parts)) == {
        "Random read, 8 KB in files of 128 KB": 40,
        "Random write, 8 KB in files of 128 KB, flushed": 40,
        "Write, 64 KB in files of 128 KB, flushed": 10,
        "Read, 4 KB in files of 128 KB": 10,
    }
    by_time = parts_of(trace, "time")
    assert by_time.notes[0].endswith("weighed by time.")
    assert words_and_weights(by_time) != words_and_weights(read_parts)


OPENED = 'openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0644) = 3 <0.000010>'


def counts(*lines: str) -> dict[tuple[str, int, int], float]:
    """By operation, block and file size in KB."""
    trace = observed("\n".join(lines).encode())
    found: dict[tuple[str, int, int], float] = {}
    for (key, name, block), count in trace.operations.items():
        place = (name, block, (trace.files[key].size or 0) // 1024)
        found[place] = found.get(place, 0) + count
    return found


def test_the_offset_of_a_call_of_strace_is_its_own_and_not_its_length():
    """pread64, preadv and pwritev end with the offset, preadv2 and pwritev2 with flags."""
    reads = [f'pread64(3, "aaa"..., 8192, {8192 * n}) = 8192 <0.00001>' for n in range(4)]
    vector = '[{iov_base="a"..., iov_len=8192}], 1'
    assert counts(OPENED, *reads) == {("read", 8, 32): 4}
    assert counts(OPENED, f"pwritev(3, {vector}, 40960) = 8192") == {("random_write", 8, 48): 1}
    for flags in ("0", "RWF_HIPRI|RWF_NOWAIT"):
        call = f"preadv2(3, {vector}, 40960, {flags}) = 8192 <0.000010>"
        assert counts(OPENED, call) == {("random_read", 8, 48): 1}


READ = 'read(3, "a"..., 4096) = 4096 <0.00001>'


def test_strace_names_no_process_where_there_is_one_alone():
    """As strace 6.1 prints to a terminal: the line that a new process cuts, and who is left."""
    lines = [
        *(OPENED, READ, "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 12 attached"),
        *(" <unfinished ...>", f"[pid    12] {READ}", "[pid    12] exit_group(0) = ?"),
        *(
            "[pid    11] <... clone resumed>, child_tidptr=0x7f) = 12 <0.0002>",
            f"[pid    11] {READ}",
        ),
        *("[pid    12] +++ exited with 0 +++", READ, "clone(child_stack=NULL, flags=SIGCHLD) = 13"),
        *("read(3, strace: Process 13 attached", " <unfinished ...>", f"[pid    13] {READ}"),
        *('[pid    11] <... read resumed>"a"..., 4096) = 4096 <0.0001>', f"[pid    11] {READ}"),
        *("[pid    11] +++ exited with 0 +++", READ),
    ]
    assert counts(*lines) == {("read", 4, 32): 8}
    assert not observed("\n".join(lines).encode()).skipped


def test_a_thread_of_strace_may_work_before_the_call_that_made_it_returns():
    lines = [
        *(f"11 {OPENED}", "11 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} <unfinished ...>"),
        *(f"12 {READ}", f"12 {OPENED.replace('= 3', '= 4').replace('/d/a', '/d/b')}"),
        *("11 <... clone3 resumed> => {parent_tid=[12]}, 88) = 12 <0.0001>", f"11 {READ}"),
        "11 " + READ.replace("(3", "(4"),
    ]
    assert counts(*lines) == {("read", 4, 8): 2, ("read", 4, 4): 1}


def test_the_same_name_in_two_folders_is_two_files_of_strace():
    def read_in(folder: str, size: int) -> list[str]:
        return [
            f'openat(AT_FDCWD, "{folder}", O_RDONLY|O_DIRECTORY) = 5',
            *('openat(5, "f", O_RDONLY) = 3', "close(5) = 0"),
            f"fstat(3, {{st_mode=S_IFREG|0644, st_size={size}, ...}}) = 0",
            *("fcntl(3, F_DUPFD_CLOEXEC, 10) = 10", READ.replace("(3", "(10"), "close(3) = 0"),
        ]

    expected = {("read", 4, 1024): 1, ("read", 4, 64): 1}
    assert counts(*read_in("/x", 1 << 20), *read_in("/y", 1 << 16)) == expected
    named = [  # As -y says it, from the current folder, which changed meanwhile.
        *('openat(AT_FDCWD</x>, "f", O_RDONLY) = 3</x/f>', READ.replace("(3", "(3</x/f>")),
        *('openat(AT_FDCWD</y>, "f", O_RDONLY) = 4</y/f>', READ.replace("(3", "(4</y/f>")),
    ]
    assert counts(*named) == {("read", 4, 4): 2}
    assert len(observed("\n".join(named).encode()).files) == 2


def test_what_processes_of_strace_inherit_is_bounded(monkeypatch):
    monkeypatch.setattr(strace, "MOST_INHERITED", 100)
    lines = [f'1 openat(AT_FDCWD, "/f", O_RDONLY) = {fd}' for fd in range(3, 13)]
    lines += ["1 " + READ, *(f"1 fork() = {pid}" for pid in range(2, 12))]
    assert observed("\n".join(lines).encode()).count == 1
    with pytest.raises(TraceError, match="inherit more than 100 open files of each other: cut"):
        observed("\n".join([*lines, "1 fork() = 12"]).encode())


def test_what_strace_read_is_kept_nowhere():
    text = sample("threads.strace").decode().replace('"table"', '"/home/ada/salaries.db"')
    trace = observed(text.encode())
    assert "salaries" not in repr(trace) + repr(parts_of(trace))


def test_blkparse_counts_what_was_issued_to_the_device():
    read_parts = parts_of(observed(sample("sda.blkparse")), file_kb=4 * 1024 * 1024)
    # 56 sectors from 223490, and 8 from where these end.
    assert words_and_weights(read_parts) == [
        ("Random write, 32 KB in files of 4 GB, beyond the cache", 50),
        ("Write, 4 KB in files of 4 GB, beyond the cache", 50),
    ]
    assert read_parts.notes[1] == "The trace does not say how large files are: 4 GB is assumed."


def test_blkparse_names_its_files_first():
    """blkparse.c: "Input file %s added" of each processor's file."""
    named = b"Input file sda.blktrace.0 added\nInput file sda.blktrace.1 added\n"
    whole = sample("sda.blkparse")
    assert parts_of(observed(named + whole)) == parts_of(observed(whole))


@pytest.mark.parametrize(("name", "count"), [("xvda.biosnoop", 15), ("queued.biosnoop", 6)])
def test_biosnoop_with_and_without_queue_times(name, count):
    trace = observed(sample(name))
    assert trace.count == count
    assert (
        sum(trace.octets.values())
        == {15: 12 * 4096 - 4096 + 2 * 8192 + 512 + 65536, 6: 48640}[count]
    )
    assert parts_of(trace, "bytes").parts
    assert parts_of(trace, "time").parts


def test_a_histogram():
    text = "operation,block,file,count\nrandom_read,8k,4g,3000\nwrite,65536,1m,1000\n"
    read_parts = parts_of(observed(text.encode()))
    assert words_and_weights(read_parts) == [
        ("Random read, 8 KB in files of 4 GB", 75),
        ("Write, 64 KB in files of 1 MB", 25),
    ]
    by_bytes = parts_of(observed(text.encode()), "bytes")
    assert by_bytes.parts[0].operation == "write"


def test_a_histogram_may_say_shares_and_begin_with_a_byte_order_mark():
    text = "\ufeffoperation,block,file,count\nread,8k,1g,0.65\nwrite,8k,1g,0.25\nwrite,4k,1g,0.1\n"
    read_parts = parts_of(observed(text.encode()))
    assert sorted(part.weight for part in read_parts.parts) == [10, 25, 65]
    assert read_parts.notes[0].startswith("Histogram: 1 reads and writes of 2 files")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Line 1: this is not a format"),
        (b"hello\nworld\n", "Line 1: this is not a format"),
        (b"\x07\x65\x61\x00\x00", "is not text: blktrace's own files go through blkparse"),
        (
            b"fio version 3 iolog\nx read 0 4096\n",
            "Line 2: a line of version 3 begins with its time",
        ),
        (b"fio version 2 iolog\n/f read 0\n", "Line 2: it is not an action on a file"),
        (b"fio version 2 iolog\n/f read -1 4096\n", "Line 2: it is not an action on a file"),
        (b"fio version 2 iolog\n/f add\n/f open\n", "No read or write was found"),
        (b"operation,block,count\nread,8z,1\n", "Line 2: '8z' is not a size"),
        (b"operation,block,count\nread,8k,-1\n", "Line 2: count is a number from 0"),
        (b"operation,block,count\nread,8k,nan\n", "Line 2: count is a number from 0"),
        (b"operation,block,count\nseek,8k,1\n", "Line 2: operation is read, write"),
        (b"operation,block,count\nread,8k\n", "Line 2: it has 2 cells, and the head 3"),
        (b"operation,block,count\nread,0,1\n", "Line 2: a size is above 0"),
        *(
            (HEAD + b"0.1 a 1 sda R %s\n" % numbers, "Line 2: sector, bytes or latency is no")
            for numbers in (b"10 4096 nan", b"1 4096 inf", b"1 4096 -5", b"1 1%s 1" % (b"0" * 400))
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line_and_reason(text, reason):
    with pytest.raises(TraceError) as error:
        parts_of(observed(text))
    assert reason in str(error.value)


def test_a_cut_line_of_blkparse_or_biosnoop_is_refused_by_its_number():
    for name, line in (("sda.blkparse", 3), ("xvda.biosnoop", 4)):
        lines = sample(name).splitlines()
        lines[line - 1] = lines[line - 1][:14]
        with pytest.raises(TraceError) as error:
            observed(b"\n".join(lines))
        assert error.value.line == line


@pytest.mark.parametrize("digits", [400, 5000])
def test_no_number_of_a_trace_of_strace_is_too_large(digits):
    large = "9" * digits
    lines = [OPENED, f'read(3, "a", 1) = {large} <0.1>', f'read(3, "a", 1) = 1 <{large}.0>', READ]
    trace = observed("\n".join(lines).encode())
    assert trace.count == 1
    assert parts_of(trace, "time").parts[0].weight == 100


def test_traces_are_bounded(monkeypatch):
    long = b"fio version 2 iolog\n" + b"/f read 0 4096\n" * 100
    monkeypatch.setattr("fsbench_web.core.traces.reading.MOST_LINES", 50)
    with pytest.raises(TraceError, match="Line 51: a trace has 50 lines at most"):
        observed(long)
    monkeypatch.setattr("fsbench_web.core.traces.reading.MOST_BYTES", 1024)
    with pytest.raises(TraceError, match="MiB at most"):
        observed(long)
    monkeypatch.setattr(limits, "MOST_FILES", 3)
    many = "fio version 2 iolog\n" + "".join(f"/f{n} read 0 4096\n" for n in range(5))
    with pytest.raises(TraceError, match="Line 5: there are more than 3 files"):
        observed(many.encode())


def test_a_line_made_to_be_slow_is_read_once():
    """Each of these would take a search by pattern the square of its length."""
    for filling in (" = 1", "<", "st_mode=S_IFREG", '\\"', "[pid 1"):
        line = f'1 read(3, "{filling * 6000}", 4096) = 4096 <0.1>\n'
        observed((line * 20).encode())


def test_more_parts_than_a_profile_has_are_told():
    rows = "".join(f"read,{2**n}k,1g,{n + 1}\n" for n in range(20))
    rows += "".join(f"write,{2**n}k,1g,{n + 1}\n" for n in range(20))
    read_parts = parts_of(observed(f"operation,block,file,count\n{rows}".encode()))
    assert len(read_parts.parts) == 24
    assert "16 further parts with" in read_parts.notes[1]


@pytest.mark.parametrize(("octets", "kb"), [(1, 1), (1024, 1), (1025, 2), (8192, 8), (12288, 16)])
def test_sizes_are_the_next_power_of_two(octets, kb):
    assert power_kb(octets) == kb
