"""Databases of before labels had today's names of schedulers, and addresses that have the old."""

from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for, from_label
from fsbench_web.catalog.models import FilesystemConfiguration
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_score

moving = import_module("fsbench_web.studies.migrations.0033_todays_schedulers_in_labels")
pytestmark = pytest.mark.django_db


def of_before(filesystem: str, scheduler: str, label: str) -> FilesystemConfiguration:
    row = configuration_for(filesystem, {}, scheduler)
    row.label = label
    row.save()
    return row


def series_of(study: Study, row: FilesystemConfiguration, origin: str | None) -> Series:
    series = series_for(study, row)
    if origin:
        Run.objects.create(series=series, repeat=1, origin=origin, state="done")
    return series


def test_what_was_measured_gets_todays_word_and_what_was_not_keeps_its_own() -> None:
    lab, paper = (Study.objects.create(slug=slug, title=slug) for slug in ("lab", "paper"))
    ext4, xfs, jfs = (
        of_before("ext4", "none", "ext4_noop"),
        of_before("xfs", "mq-deadline", "xfs_dl"),
        of_before("jfs", "none", "jfs_noop"),
    )
    measured = series_of(lab, ext4, "measured"), series_of(lab, xfs, "measured")
    printed, imported = series_of(paper, ext4, None), series_of(paper, jfs, "imported")
    moving.relabel(apps, None)
    labels = dict(Series.objects.values_list("pk", "configuration__label"))
    assert [labels[series.pk] for series in measured] == ["ext4_none", "xfs_mq-deadline"]
    assert [labels[series.pk] for series in (printed, imported)] == ["ext4_noop", "jfs_noop"]
    # Whoever writes on finds the same rows and series again.
    assert series_for(lab, configuration_for("ext4", {}, "none")) == measured[0]
    assert series_for(paper, from_label("ext4_noop")) == printed
    assert series_for(paper, from_label("jfs_noop")) == imported
    moving.relabel(apps, None)
    assert dict(Series.objects.values_list("pk", "configuration__label")) == labels


def test_an_old_label_in_an_address_means_todays(client: Client) -> None:
    make_score("ext4_none", 100)
    make_score("xfs_none", 200)
    address = "/api/v1/deltas?study=lab&by=configuration&configuration=ext4_noop"
    [table] = client.get(address).json()["tables"]
    assert [row["contender"] for row in table["rows"]] == ["ext4_none"]
    page = client.get("/compare/?study=lab&by=configuration&baseline=ext4_noop").content.decode()
    assert "ext4_none" in page
    answer = client.get("/compare/?study=lab&by=configuration&configuration=jfs_noop")
    assert answer.status_code == 400
    results = client.get("/search/?kind=configurations&q=ext4_noop").content.decode()
    assert "ext4_none" in results
