from fsbench_web.core.workloads.iozone import IozoneProgress


def test_large_files_weigh_more() -> None:
    progress = IozoneProgress([(4, 64), (4, 1024)])
    assert progress.share == 0
    assert progress.remaining_s(10) is None
    assert progress.feed("              64       4   1 2 3 4 5 6        ")
    small = progress.share
    assert 0 < small < 0.2
    assert progress.remaining_s(10) == 10 * (1 - small) / small
    assert progress.feed("            1024       4   1 2 3 4 5 6")
    assert progress.share == 1


def test_only_whole_rows_of_the_plan_count_and_only_once() -> None:
    progress = IozoneProgress([(4, 64), (4, 128)])
    assert not progress.feed("64 4 1 2 3 4 5")
    assert not progress.feed("64 8 1 2 3 4 5 6")
    assert not progress.feed("  kB  reclen    write  rewrite    read    reread")
    assert progress.feed("64 4 1 2 3 4 5 6")
    assert not progress.feed("64 4 1 2 3 4 5 6")
    assert 0 < progress.share < 1


def test_an_empty_plan_is_not_finished() -> None:
    assert IozoneProgress([]).share == 0
