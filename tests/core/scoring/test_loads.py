from fsbench_web.core.scoring import loads, testnames


def test_the_axis_is_what_is_varied_most() -> None:
    assert loads.varied(["threads=1", "threads=8"]) == "threads"
    assert loads.varied(["iodepth=1,jobs=2", "iodepth=4,jobs=2"]) == "iodepth"
    assert loads.varied(["iodepth=4,jobs=2", "iodepth=4,jobs=8"]) == "jobs"
    assert loads.varied([]) == ""
    assert loads.varied(["heavy"]) == ""


def test_a_load_is_its_number_and_the_rest() -> None:
    assert loads.split("iodepth=4,jobs=8", "iodepth") == (4, "8 jobs")
    assert loads.split("threads=8", "threads") == (8, "")
    assert loads.split("threads=8", "iodepth") == (None, "8 threads")


def test_a_queue_depth_is_called_so() -> None:
    assert loads.label("iodepth") == "queue depth"
    assert loads.label("threads") == "threads"


def test_a_load_is_written_in_words() -> None:
    assert loads.words("iodepth=1,jobs=1") == "queue depth 1, 1 job"
    assert loads.words("iodepth=64,jobs=28") == "queue depth 64, 28 jobs"
    assert loads.words("transactions=25000") == "25,000 transactions"
    assert loads.words("cpus=1") == "1 processor"
    assert loads.words("bytes=100") == "about 100 bytes a file"
    assert loads.words("queues=3") == "queues 3"
    assert loads.words("") == ""
    assert loads.words("heavy") == "heavy"


def test_a_test_and_its_load_come_apart_as_they_were_put_together() -> None:
    assert testnames.parts(testnames.at_load("read", "jobs=4")) == ("read", "jobs=4")
    assert testnames.parts("mail@home") == ("mail@home", "")
