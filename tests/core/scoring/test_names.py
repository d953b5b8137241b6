"""How tests and categories are written."""

import pytest

from fsbench_web.core.scoring import categories, testnames


@pytest.mark.parametrize(
    ("test", "label"),
    [
        ("file_creation_cpu_load", "File creation, CPU load"),
        ("kernel_source_space_df", "Space of the source tree (df)"),
        ("random_io_real@mb=10", "Random I/O, real time at 10 MB a file"),
        (
            "sequential_read_bw@iodepth=16,jobs=4",
            "Sequential read, throughput at queue depth 16, 4 jobs",
        ),
        ("sequential_write_clat_mean", "Sequential write, mean completion latency"),
        ("web_server_lat_mean", "Web Server, mean latency"),
        ("file_server_bw", "File Server, throughput"),
        (
            "oltp_8k_iops@iodepth=1,jobs=1",
            "8K OLTP, operations per second at queue depth 1, 1 job",
        ),
        ("mail_read_clat_p99.9", "Mail read, 99.9th percentile of completion latency"),
        ("mail_read_clat_p1", "Mail read, 1st percentile of completion latency"),
        ("mail_read_clat_p12", "Mail read, 12th percentile of completion latency"),
        ("filemark_transactions@threads=64", "filemark, transactions per second at 64 threads"),
        ("multiuser_peak@cpus=1", "Multiuser mix, peak of jobs per minute at 1 processor"),
        ("mongo_create_real@bytes=100", "Mongo, create, real time at about 100 bytes a file"),
        (
            "postmark_transactions@transactions=25000",
            "PostMark, transactions per second at 25,000 transactions",
        ),
        ("own@queues=3", "Own at queues 3"),
        ("iops", "Iops"),
        ("random_write", "Random write"),
        ("copy_real", "Copy, real time"),
        ("make_bzimage_cpu", "Make bzImage, CPU time"),
        ("random_io_cpu", "Random I/O, CPU time"),
        ("kernel_source_copy", "Kernel source copy"),
    ],
)
def test_a_test_is_named_as_people_write_it(test: str, label: str) -> None:
    assert testnames.label(test) == label


def test_a_category_keeps_its_name_inside_a_sentence() -> None:
    labels = [categories.in_sentence(categories.label(slug)) for slug in categories.CATEGORIES]
    assert labels == [
        *("maximum", "minimum", "total average", "target average", "Ora-ta", "SpecFP-ta"),
        "overall",
    ]
    assert categories.in_sentence(categories.label(categories.RANGE)) == "range of sizes"


def test_a_name_that_somebody_gave_is_printed_as_it_was_given() -> None:
    for title in ("ACME SQL Box", "Maximum", "shop", "iSCSI mix"):
        label = categories.label("profile:acme-sql-box@1", title)
        assert label == categories.in_sentence(label) == f"{title}, version 1"
    assert categories.label("profile:acme-sql-box@1") == "acme-sql-box, version 1"


def test_numbers_in_names_sort_as_numbers() -> None:
    names = [
        *("write", "job_clat_p1", "job_clat_p10", "job_clat_p20", "job_clat_p99"),
        *("job_clat_p99.5", "job_clat_p99.9", "job_clat_p99.95", "job_clat_p100"),
        *("read_x@jobs=2", "read_x@jobs=16"),
        *("x_clat_p99@iodepth=1", "x_clat_p99@iodepth=16"),
        *("x_clat_p99.9@iodepth=1", "x_clat_p99.9@iodepth=16", "x_clat_p99.99@iodepth=1"),
    ]
    assert sorted(set(names), key=testnames.place) == names


def test_sizes_are_of_blocks_and_of_records_on_the_pages_of_papers_alone() -> None:
    assert testnames.block_word("random_write") == "block"
    assert testnames.block_word("read@threads=4", is_published=True) == "record"
    assert testnames.block_word("randread_bw", is_published=True) == "block"
    assert testnames.block_word("randread_iops@iodepth=8") == "block"


def test_tests_of_one_benchmark_stand_together_and_mkfs_and_mount_last() -> None:
    names = [
        *("write", "random_read", "make_bzimage_real", "make_bzimage_cpu", "mongo_copy_real"),
        *("mongo_copy_cpu", "mongo_create_real@bytes=100", "mongo_create_cpu@bytes=100"),
        *("mongo_create_real@bytes=1000", "mongo_create_cpu@bytes=1000"),
        *("mongo_create_2_real", "randread_4k_iops", "randread_512k_iops", "randread_1m_iops"),
        *("untar_real", "untar_cpu", "untar_cpu_load", "untar_j2_real", "mkfs", "mount"),
    ]
    assert sorted(set(names), key=testnames.place) == names


def test_no_two_tests_have_one_place() -> None:
    names = ["x_4k", "x_4096", "x_04k", "x_4K", "x_4kib", "x_0.5m", "x_512k"]
    assert len({testnames.place(name) for name in names}) == len(names)
