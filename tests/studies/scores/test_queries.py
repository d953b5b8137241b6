"""Scores as plain rows, and what there is to choose from."""

from itertools import product

import pytest
from django.utils import timezone

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.machines import EMULATED, GUEST
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.scores.choices import score_choices
from fsbench_web.studies.scores.queries import ScoreFilter
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_score, make_series, make_study
from tests.measured import scores_for

pytestmark = pytest.mark.django_db


def test_a_row_says_all_that_it_is_a_score_of():
    now = timezone.now()
    worker = Worker.objects.create(name="host-1", executor="fake", started_at=now, seen_at=now)
    lun = Lun.objects.create(
        worker=worker, name="loop1", role="data", kind="device", device="/dev/x", announced_at=now
    )
    study = Study.objects.create(slug="lab", title="Our lab")
    series = series_for(
        study,
        configuration_for("ext4", {"atime": "noatime"}),
        lun=lun,
        kernel="6.1",
        distribution="Debian 12",
    )
    Score.objects.create(
        series=series,
        test="write",
        category="ora_ta",
        value=1.5,
        unit="KB/s",
        repeats=2,
        cells=3,
        cells_expected=4,
        flags=["unequal_repeats"],
        run_ids=[7, 9],
    )
    [row] = scores_for(ScoreFilter(["lab"]))
    assert (row.study, row.study_title, row.series_id) == ("lab", "Our lab", series.pk)
    assert (row.configuration, row.configuration_is_known) == ("ext4_noatime", True)
    assert (row.filesystem, row.lun) == ("ext4", "loop1 on host-1")
    assert (row.workload, row.hardware, row.hardware_name) == (None, None, None)
    assert (row.kernel, row.distribution) == ("6.1", "Debian 12")
    assert (row.test, row.category, row.value, row.unit) == ("write", "ora_ta", 1.5, "KB/s")
    assert (row.repeats, row.cells, row.cells_expected) == (2, 3, 4)
    assert row.flags == ("unequal_repeats", "partial")
    assert (row.origin, row.published) == ("computed", None)
    assert row.run_ids == (7, 9)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"ext4", "xfs"}),
        ({"studies": ["first"]}, {"ext4"}),
        ({"studies": ["first", "second"]}, {"ext4", "xfs"}),
        ({"tests": ["read"]}, {"xfs"}),
        ({"categories": ["overall"]}, {"xfs"}),
        ({"filesystems": ["ext4"]}, {"ext4"}),
        ({"workloads": ["small"]}, {"ext4"}),
        ({"hardware": ["new"]}, {"xfs"}),
        ({"studies": ["nope"]}, set()),
        ({"min_runs": 2}, {"xfs"}),
    ],
)
def test_an_empty_filter_takes_all(filters, expected):
    make_score("ext4", study="first", workload="small", repeats=None)
    make_score("xfs", study="second", test="read", category="overall", hardware="new", repeats=2)
    assert {row.filesystem for row in scores_for(ScoreFilter(**filters))} == expected


def test_choices_of_some_studies_are_what_these_contain(django_assert_num_queries, monkeypatch):
    make_score("ext4", study="a", kernel="6.1", workload="small")
    make_score("xfs", test="read", study="b", kernel="6.12", hardware="new")
    make_series("jfs", study="a", kernel="4.9")
    with django_assert_num_queries(5):  # hardware and LUNs are not known
        choices = score_choices(["a"])
    assert [slug for slug, _ in choices.studies] == ["a", "b"]
    assert (choices.tests, choices.kernels, choices.filesystems) == (
        ("write",),
        ("6.1",),
        ("ext4",),
    )
    assert (choices.workloads, choices.hardware) == ((("small", "small"),), ())
    assert choices.configurations == ("ext4",)
    assert score_choices(["a", "b"]) == score_choices()
    monkeypatch.setattr("fsbench_web.studies.scores.choices.MOST_LISTED", 0)
    assert score_choices(["a"]) == choices


def test_choices_are_what_scores_belong_to(django_assert_num_queries):
    make_score("ext4", study="lab", workload="small", hardware="old")
    make_score("xfs", study="lab", test="read", category="overall")
    make_study("empty")
    with django_assert_num_queries(6):
        choices = score_choices()
    assert choices.studies == (("empty", "Empty"), ("lab", "Lab"))
    assert choices.tests == ("read", "write")
    assert choices.categories == ("maximum", "overall")
    assert choices.filesystems == ("ext4", "xfs")
    assert choices.workloads == (("small", "small"),)
    assert choices.hardware == (("old", "old"),)


def test_choices_are_also_what_series_are_told_apart_by():
    assert score_choices().kernels == ()
    make_score("ext4_dl", kernel="6.1", preparation={"discard": True})
    make_score("xfs", kernel="6.12")
    make_series("jfs", kernel="4.9")
    choices = score_choices()
    assert choices.kernels == ("6.1", "6.12")
    assert choices.configurations == ("ext4_dl", "xfs")
    assert choices.preparations == ("", "discarded")
    assert (choices.luns, choices.distributions) == (("",), ("",))
    assert choices.schedulers == (("", False),)
    assert choices.journals == ((False, False),)


def test_choices_are_those_of_series_with_scores(monkeypatch):
    now = timezone.now()
    worker = Worker.objects.create(name="host-1", executor="fake", started_at=now, seen_at=now)
    lun = Lun.objects.create(
        worker=worker, name="loop1", role="data", kind="device", device="/dev/x", announced_at=now
    )
    make_score(
        "ext4", kernel="6.1", hardware="old", workload="small", preparation={"discard": True}
    )
    machine = {"executor": GUEST, "kernel": "6.1", "accelerator": EMULATED}
    Series.objects.update(lun=lun, machine=machine)
    make_score("xfs_dl", kernel="6.1")
    make_series("xfs_dl", kernel="6.1")
    make_series("jfs", kernel="4.9")
    make_series("jfs", kernel="6.1", hardware="new")
    choices = score_choices()
    assert (choices.luns, choices.kernels) == (("", "loop1 on host-1"), ("6.1",))
    assert choices.hardware == (("old", "old"),)
    assert choices.has_emulated
    monkeypatch.setattr("fsbench_web.studies.scores.choices._is_plain", lambda: False)
    assert score_choices() == choices


def test_choices_are_exact_however_many_there_are(monkeypatch):
    monkeypatch.setattr("fsbench_web.studies.scores.choices.MOST_LISTED", 1)
    make_series("jfs", kernel="4.9")
    make_score("ext4", kernel="6.1")
    make_score("xfs", kernel="6.12")
    assert score_choices().kernels == ("6.1", "6.12")


def test_choices_are_of_every_combination_whatever_is_not_known_of_a_series():
    for number, (kernel, workload, hardware, preparation) in enumerate(
        product(("", "6.1"), ("", "small"), ("", "old", "new"), ({}, {"discard": True}))
    ):
        make_score(
            f"ext{number}",
            kernel=kernel,
            workload=workload,
            hardware=hardware,
            preparation=preparation,
        )
    choices = score_choices()
    assert choices.kernels == ("", "6.1")
    assert choices.workloads == (("small", "small"),)
    assert choices.hardware == (("new", "new"), ("old", "old"))
    assert choices.preparations == ("", "discarded")
    assert choices.luns == ("",)
