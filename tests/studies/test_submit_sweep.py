"""manage.py submit_sweep: a preview without a confirmation, an order with one."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from fsbench_web.studies.models import Run, Submission
from tests.studies.test_sweep_pages import DOCUMENT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(DOCUMENT)
    return path


def said(*arguments: object) -> str:
    out = StringIO()
    call_command("submit_sweep", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_without_a_confirmation_it_shows_what_would_be_done(file, worker):
    text = said(file)
    assert len([line for line in text.splitlines() if "  repeat " in line]) == 16
    assert text.count(" reference\n") == 4
    assert "left out  configurations[0]: ext2 journal_mode=writeback scheduler=none" in text
    assert "Estimated duration: not known (16 of 16 runs). Erasures: 16." in text
    assert "Seed: 7." in text
    assert '--confirm "disk1" --user NAME' in text
    assert not Run.objects.exists()


def test_it_orders(file, worker, ann):
    assert said(file, "--confirm", "disk1", "--user", "ann") == (
        f"Sweep {Submission.objects.get().pk}: 16 runs are queued.\n"
    )
    assert Run.objects.filter(created_by=ann).count() == 16


@pytest.mark.parametrize(
    ("text", "arguments", "error"),
    [
        (DOCUMENT, ["--confirm", "disk1"], 'no active user ""'),
        (DOCUMENT, ["--confirm", "disk1", "--user", "bob"], 'no active user "bob"'),
        (DOCUMENT, ["--confirm", "disk2", "--user", "ann"], "confirmation: The confirmation does"),
        (DOCUMENT.replace("ext4", "zfs"), [], r"configurations\[0\].filesystem\[1\]: .*zfs"),
        ("a: *b", [], "anchors and aliases"),
        ("a: 1\n" * 99_999, [], "larger than 64 KB"),
    ],
)
def test_it_refuses(file, worker, ann, text, arguments, error):
    file.write_text(text)
    with pytest.raises(CommandError, match=error):
        said(file, *arguments)
    assert not Run.objects.exists()


def test_a_file_that_is_not_there(tmp_path, db):
    with pytest.raises(CommandError, match="No such file"):
        said(tmp_path / "nothing.yaml")
