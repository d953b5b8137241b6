"""Locks among the conditions of a run, on its page."""

import pytest
from django.test import Client

from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db


def _page(client: Client, run: Run, locks: dict[str, object]) -> str:
    Run.objects.filter(pk=run.pk).update(conditions={"before": {}, "locks": locks})
    return " ".join(client.get(f"/runs/{run.pk}/").content.decode().split())


def test_waiting_for_locks_is_a_share_of_all_processors(client: Client, runs: list[Run]) -> None:
    locks = {"elapsed_s": 10.0, "cpus": 4, "locks": [["<b>-W", 12, 12_000_000.0]]}
    page = _page(client, runs[0], locks)
    assert '&lt;b&gt;-W</th> <td class="num">30.00%</td>' in page
    assert "12.000</td>" in page


def test_why_locks_are_not_known_is_said(client: Client, runs: list[Run]) -> None:
    page = _page(client, runs[0], {"reason": "this kernel does not count it"})
    assert "Not known: this kernel does not count it." in page


def test_a_run_of_before_says_nothing_of_locks(client: Client, runs: list[Run]) -> None:
    assert "Locks of the kernel" not in _page(client, runs[0], {})
