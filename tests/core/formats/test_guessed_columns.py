"""Headers as people of the field write them: what each column is taken for, and what is asked."""

import pytest

from fsbench_web.core.formats import parse
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped, tables_of
from fsbench_web.core.formats.tables.table import proposal, shape_reason
from fsbench_web.core.units import lower_is_better, unit_factor

READ = [
    (
        "fs,rw,bs,size,bw (MB/s),iops\next4,randread,4k,1g,120.5,30848",
        [("randread_bw", 120.5, "MB/s"), ("randread_iops", 30848, "IOPS")],
    ),
    (
        "fs,rw,bs,size,iodepth,BW MiB/s,IOPS,lat (us),p99 (us)\nxfs,read,4k,1g,8,1,2,3,4",
        [
            *(("read_bw", 1, "MiB/s"), ("read_iops", 2, "IOPS")),
            *(("read_latency", 3, "µs"), ("read_lat_p99", 4, "µs")),
        ],
    ),
    (
        "FS,Pattern,QD,IOPS,Avg Latency (us),99.9% (us)\next4,randread,8,1,2,3",
        [
            ("randread_iops", 1, "IOPS"),
            ("randread_lat_mean", 2, "µs"),
            ("randread_lat_p99.9", 3, "µs"),
        ],
    ),
    (
        "fs,job,iops,clat_p99_us,clat_max_us,lat (p50) ms\nxfs,oltp,1,2,3,4",
        [
            *(("oltp_iops", 1, "IOPS"), ("oltp_clat_p99", 2, "µs"), ("oltp_clat_max", 3, "µs")),
            ("oltp_lat_p50", 4, "ms"),
        ],
    ),
    (
        "fs;test;p999 latency (ms);median latency (ms)\next4;oltp;12,5;3,25",
        [("oltp_lat_p99.9", 12.5, "ms"), ("oltp_lat_p50", 3.25, "ms")],
    ),
    ("filesystem,test,MiB/s\next4,randread,812.5", [("randread", 812.5, "MiB/s")]),
    ("fs,test,kIOPS\next4,randread,120.5", [("randread", 120.5, "kIOPS")]),
    ("fs,test,IOPS (k)\next4,randread,120.5", [("randread", 120.5, "kIOPS")]),
    ("fs,test,iops (mean),iops (stddev)\next4,randread,12,3", [("randread", 12, "IOPS")]),
    ("fs,test,throughput_mb_s,cpu %\next4,randread,120.5,33", [("randread", 120.5, "MB/s")]),
    ("fs,test,MB/s,vs. ext3 (%)\next4,randread,120.5,-3", [("randread", 120.5, "MB/s")]),
    ("fs,workload,Throughput in MiB/s\next4,randread,9", [("randread", 9, "MiB/s")]),
    ("fs,test,p99 (us)\next4,randread,9", [("randread_lat_p99", 9, "µs")]),
    ("fs,test,value,unit,iops\next4,randread,9,s,5", [("randread", 9, "s")]),
    (
        "Dateisystem;Test;Blockgröße;Dateigröße;Durchsatz (MB/s)\next4;randread;4k;1g;120,5",
        [("randread", 120.5, "MB/s")],
    ),
    (
        "Threads,Transactions/s,Queries/sec,95th percentile (ms)\n8,120.5,2410,12.5",
        [
            ("transactions", 120.5, "transactions/s"),
            ("queries", 2410, "queries/s"),
            ("lat_p95", 12.5, "ms"),
        ],
    ),
    (
        "fs,threads,reads/s,fsyncs/s,read MiB/s,written MiB/s\next4,8,100,20,1.5,0.8",
        [
            *(("reads", 100, "reads/s"), ("fsyncs", 20, "fsyncs/s")),
            *(("read", 1.5, "MiB/s"), ("written", 0.8, "MiB/s")),
        ],
    ),
    (
        "File system,Seq Read (MB/s),Seq Write MB/s,Rand Read IOPS,4k util (%)\next4,5,4,3,9",
        [("read", 5, "MB/s"), ("write", 4, "MB/s"), ("random_read_iops", 3, "IOPS")],
    ),
    (
        "fs,rand read (MB/s),rand read (IOPS),rand read p99 (us)\next4,5,4,3",
        [
            ("random_read", 5, "MB/s"),
            ("random_read_iops", 4, "IOPS"),
            ("random_read_lat_p99", 3, "µs"),
        ],
    ),
    (
        "fs,rw,read_iops,read_bw (KiB/s),write_iops\nxfs,randrw,3,2,1",
        [
            ("randrw_read_iops", 3, "IOPS"),
            ("randrw_read_bw", 2, "KiB/s"),
            ("randrw_write_iops", 1, "IOPS"),
        ],
    ),
    ("fs,Rand Write (%),write (MB/s)\next4,50,7", [("write", 7, "MB/s")]),
]


@pytest.mark.parametrize(
    ("text", "expected"), READ, ids=lambda value: str(value).partition("\n")[0]
)
def test_a_header_says_what_was_measured(text: str, expected: list[tuple[str, float, str]]) -> None:
    values = [
        (value.test, value.value, value.unit)
        for value in parse("x.csv", text.encode()).numbers.values()
    ]
    assert values == expected


ASKED = [
    ("fs,rw,bs,bw (MB/s),iops\next4,randread,4k,120.5,30848", "no file size"),
    ("fs,bs,bw,iops,randread\next4,4k,120,300,1", "does not say: unit"),
    ("fs,test,bw_mbps\next4,randread,120.5", "unit"),
    ("fs,job,bw_mbps,iops\next4,randread,120.5,3", "does not say: unit"),
    ("Name,Size,SeqW,SeqR,RandW,RandR\next4,1g,1,2,3,4", "does not say: unit"),
    ("fs,run,runtime (s)\next4,1,12.5", "does not say: test, value, unit"),
    ("fs,operation,mean,stddev,n\next4,randread,120.5,3.2,5", "unit"),
    ("fs,filesystem,test,iops\next4,xfs,randread,120.5", "second column for filesystem"),
    ('fs,test,MB/s\next4,randread,"120,5"', "a comma in a table that commas separate"),
]


@pytest.mark.parametrize(("text", "words"), ASKED, ids=lambda value: str(value).partition("\n")[0])
def test_what_a_header_leaves_open_is_asked_and_never_refused(text: str, words: str) -> None:
    with pytest.raises(NeedsMapping, match=words):
        parse("x.csv", text.encode())


@pytest.mark.parametrize(
    ("header", "shape", "words"),
    [
        ("fs,rw,bs,bw (MB/s),iops", "tests", '"iops": several numbers of the test that "rw" names'),
        ("fs,bs,bw,iops,randread", "tests", '"randread": a column for each test'),
        ("fs,test,bw (MB/s)", "long", '"test", "bw (MB/s)": one number a row'),
        ("write (KB/s)\n,4,8\n64,1,2", "matrix", "A row of sizes"),
        ("a,b", "long", ""),
    ],
)
def test_a_guessed_shape_has_its_reason(header: str, shape: str, words: str) -> None:
    [grid] = tables_of(f"{header}\n".encode())
    mapping = proposal(grid)
    assert mapping is not None
    assert mapping.shape == shape
    assert words in shape_reason(grid, mapping)
    assert words or not shape_reason(grid, mapping)


def test_an_ending_needs_the_test_that_it_is_of() -> None:
    data = b"name,mb\nRandom Read,5\nseq-w,4\n"
    mapping = Mapping("tests", tests={1: ("_bw", "MB/s")})
    assert mapping.missing() == ["test"]
    named = Mapping("tests", tests={1: ("_bw", "MB/s")}, columns={"test": 0})
    assert [v.test for v in parse_mapped(data, named).numbers.values()] == [
        "random_read_bw",
        "seq-w_bw",
    ]
    for_all = Mapping("tests", tests={1: ("_bw", "MB/s")}, constants={"test": "oltp"})
    with pytest.raises(NeedsMapping) as refused:
        parse_mapped(data, for_all)
    assert [problem.code for problem in refused.value.problems] == ["cell_twice_unread"]
    meant = Mapping("tests", tests=named.tests, columns={"test": 0}, names={"seq-w": "write"})
    assert [v.test for v in parse_mapped(data, meant).numbers.values()] == [
        "random_read_bw",
        "write_bw",
    ]


def test_a_comma_is_a_decimal_sign_between_commas_once_it_is_said() -> None:
    mapping = Mapping(decimal=",", columns={"test": 0, "value": 1}, constants={"unit": "MB/s"})
    assert parse_mapped(b'test,mb\nwrite,"120,5"\n', mapping).numbers.values()[0].value == 120.5


def test_thousands_of_operations_are_operations() -> None:
    for unit, times in (("kIOPS", 1000), ("MIOPS", 1_000_000)):
        conversion = unit_factor(unit)
        assert conversion is not None
        assert conversion.factor == times
        assert not lower_is_better(unit)
