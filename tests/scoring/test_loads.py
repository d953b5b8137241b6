from fsbench_web.scoring import loads, testnames


def test_the_axis_is_what_is_varied_most() -> None:
    assert loads.varied(["threads=1", "threads=8"]) == "threads"
    assert loads.varied(["iodepth=1,jobs=2", "iodepth=4,jobs=2"]) == "iodepth"
    assert loads.varied(["iodepth=4,jobs=2", "iodepth=4,jobs=8"]) == "jobs"
    assert loads.varied([]) == ""
    assert loads.varied(["heavy"]) == ""


def test_a_load_is_its_number_and_the_rest() -> None:
    assert loads.split("iodepth=4,jobs=8", "iodepth") == (4, "jobs=8")
    assert loads.split("threads=8", "threads") == (8, "")
    assert loads.split("threads=8", "iodepth") == (None, "threads=8")


def test_outstanding_requests_are_called_so() -> None:
    assert loads.label("iodepth") == "outstanding I/O (iodepth)"
    assert loads.label("threads") == "threads"


def test_a_test_and_its_load_come_apart_as_they_were_put_together() -> None:
    assert testnames.parts(testnames.at_load("read", "jobs=4")) == ("read", "jobs=4")
    assert testnames.parts("mail@home") == ("mail@home", "")
