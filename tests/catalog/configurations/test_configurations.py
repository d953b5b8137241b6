"""Configurations: the same options are one row, whoever makes it first."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from fsbench_web.catalog.configurations.filesystems import OptionError
from fsbench_web.catalog.configurations.records import (
    configuration_for,
    from_label,
    unknown_configuration,
)
from fsbench_web.catalog.models import FilesystemConfiguration
from fsbench_web.studies.models import Series, Study
from fsbench_web.studies.series import series_for


@pytest.mark.django_db
def test_the_same_options_are_one_row() -> None:
    first = configuration_for("ext4", {"atime": "noatime", "journal_mode": "writeback"}, "bfq")
    second = configuration_for("ext4", {"journal_mode": "writeback", "atime": "noatime"}, "bfq")
    assert first.pk == second.pk
    assert first.label == "ext4_wb_noatime_bfq"
    assert configuration_for("ext4", {"atime": "noatime", "journal_mode": ""}).pk != first.pk


@pytest.mark.django_db
def test_a_number_and_its_text_are_the_same_option() -> None:
    configuration = configuration_for("xfs", {"agcount": 4})
    assert configuration.options == {"agcount": "4"}
    assert configuration_for("xfs", {"agcount": "4"}).pk == configuration.pk
    assert configuration_for("xfs", {"agcount": "004"}).pk == configuration.pk


@pytest.mark.django_db
def test_the_old_name_of_a_scheduler_is_the_new_one() -> None:
    assert (
        configuration_for("ext3", {}, "deadline").pk
        == configuration_for("ext3", {}, "mq-deadline").pk
    )
    assert configuration_for("ext3", {}, "noop").scheduler == "none"
    assert configuration_for("ext3", {}, "cfq").pk != configuration_for("ext3", {}, "bfq").pk
    assert configuration_for("ext3", {}, "deadline").label == "ext3_mq-deadline"


@pytest.mark.django_db
def test_what_was_printed_or_imported_with_an_old_word_keeps_it() -> None:
    printed, measured = from_label("jfs_xj_noop"), configuration_for("jfs", {}, "none", True)
    assert (printed.label, printed.scheduler) == ("jfs_xj_noop", "none")
    assert (measured.label, measured.scheduler) == ("jfs_xj_none", "none")
    assert from_label("jfs_noop_xj").pk == printed.pk
    assert from_label("jfs_xj_none").pk == measured.pk


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("filesystem", "options", "scheduler", "journal", "words"),
    [
        ("hammer2", {}, "", False, "cannot make a file system"),
        ("ext4", {"logbufs": 8}, "", False, 'has no option "logbufs"'),
        ("ext4", {"journal_mode": "-o evil"}, "", False, "is not one of ordered"),
        ("xfs", {"agcount": "4; rm"}, "", False, "a whole number from 2"),
        ("ext4", {}, "mq-deadline; reboot", False, "is not an I/O scheduler"),
        ("ext2", {}, "", True, "cannot keep its journal"),
        ("btrfs", {}, "", True, "cannot keep its journal"),
        ("f2fs", {}, "", True, "ext3, ext4, xfs, jfs, reiser3 can"),
    ],
)
def test_what_is_not_on_the_list_is_refused_in_words(
    filesystem: str, options: dict[str, object], scheduler: str, journal: bool, words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        configuration_for(filesystem, options, scheduler, journal)
    assert not FilesystemConfiguration.objects.exists()


@pytest.mark.django_db
def test_a_label_of_known_parts_is_a_known_configuration() -> None:
    configuration = from_label("ext3_wb_noatime_dl_xj")
    assert configuration.is_known
    assert configuration.options == {"journal_mode": "writeback", "atime": "noatime"}
    assert (configuration.scheduler, configuration.external_journal) == ("mq-deadline", True)
    assert configuration.label == "ext3_wb_noatime_dl_xj"
    assert from_label("ext3_xj_dl_noatime_wb").pk == configuration.pk


@pytest.mark.django_db
@pytest.mark.parametrize(
    "label", ["reiser4_noatime", "ext4_turbo", "ext2_xj", "ext4_noatime_noatime"]
)
def test_other_labels_are_kept_as_they_are(label: str) -> None:
    configuration = from_label(label)
    assert not configuration.is_known
    assert (configuration.label, configuration.filesystem) == (label, label.split("_")[0])
    assert from_label(label).pk == configuration.pk


@pytest.mark.django_db
def test_a_label_of_another_file_system_is_not_understood_as_that() -> None:
    configuration = from_label("tuned", "ext4")
    assert (configuration.label, configuration.filesystem, configuration.is_known) == (
        "tuned",
        "ext4",
        False,
    )
    assert from_label("xfs_noatime", "ext4").is_known is False


@pytest.mark.django_db
def test_a_name_is_never_taken_for_options() -> None:
    assert unknown_configuration("ext4", "ext4").pk != configuration_for("ext4", {}).pk


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_row() -> None:
    study = Study.objects.create(slug="lab", title="Lab")

    def make(number: int) -> tuple[int, int]:
        try:
            configuration = configuration_for("xfs", {"agcount": 8, "atime": "noatime"}, "none")
            return configuration.pk, series_for(study, configuration, kernel="6.1").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(make, range(24)))
    assert len(keys) == 1
    assert FilesystemConfiguration.objects.count() == Series.objects.count() == 1
