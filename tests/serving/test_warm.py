"""What a web process does before its first request."""

import gc
from collections.abc import Iterator

import pytest
from django.template import engines

from fsbench_web.serving.warm_up import load_all


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_what_starting_made_is_not_looked_through_again() -> None:
    load_all()
    assert gc.get_freeze_count() > len(gc.get_objects())


def test_templates_are_read_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = engines["django"].engine.template_loaders[0]
    loader.reset()
    load_all()
    monkeypatch.setattr(loader, "loaders", [])  # what is read from now on is not found
    loader.get_template("compare/page.html")
    loader.get_template("compare/tests.html")
