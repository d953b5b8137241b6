"""What a web process does before its first request."""

import gc

import pytest
from django.template import engines

from fsbench_web.serving.warm_up import settle


def test_what_starting_made_is_not_looked_through_again() -> None:
    try:
        settle()
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        gc.unfreeze()


def test_templates_are_read_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = engines["django"].engine.template_loaders[0]
    loader.reset()
    try:
        settle()
        monkeypatch.setattr(loader, "loaders", [])  # what is read from now on is not found
        loader.get_template("compare/page.html")
        loader.get_template("studies/study_test.html")
    finally:
        gc.unfreeze()
