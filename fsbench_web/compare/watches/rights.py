"""What the owner of a watch may still see of it. Commands see everything."""

from collections.abc import Iterable

from fsbench_web.accounts.rights import as_user, hidden_studies
from fsbench_web.compare.history.line_series import same_line
from fsbench_web.compare.history.lines import LatestStep
from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.studies.models import Run, Series


def is_visible(watch: Watch) -> bool:
    """Whether the reader may see the line. No query if no study is hidden."""
    return not hidden_studies() or Series.objects.filter(same_line(watch)).exists()


def visible_messages(messages: Iterable[WatchMessage]) -> list[WatchMessage]:
    """The messages without a run that is hidden from the reader. One query at most."""
    all_messages = list(messages)
    hidden_runs = _hidden_among(run for message in all_messages for run in _runs_of(message))
    return [message for message in all_messages if hidden_runs.isdisjoint(_runs_of(message))]


def visible_latest(watch: Watch) -> LatestStep | None:
    """The newest step at the last look; None with a hidden run. One query at most."""
    stored = watch.latest
    return LatestStep.of(stored) if stored and not _hidden_among(stored["runs"]) else None


def _hidden_among(runs: Iterable[int]) -> set[int]:
    hidden, asked = hidden_studies(), set(runs)
    if not hidden or not asked:
        return set()
    found = Run._base_manager.filter(pk__in=asked, series__study__in=hidden)
    return set(found.values_list("pk", flat=True))


def may_be_sent(message: WatchMessage) -> bool:
    """Whether the owner of the watch may see the message."""
    with as_user(message.watch.user):
        return is_visible(message.watch) and bool(visible_messages([message]))


def _runs_of(message: WatchMessage) -> set[int]:
    value = message.payload.get("change", {})
    return {*value.get("runs", ()), *value.get("runs_of_line", ())}
