"""The glossary, read from where scores, flags, labels and states are computed."""

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations.filesystems import ALL, SCHEDULER_LABELS
from fsbench_web.catalog.configurations.labels import EXTERNAL_JOURNAL_LABEL
from fsbench_web.compare.selection.wording import FLAGS
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN_CATEGORY
from fsbench_web.core.stats.freenix import MARGIN_PERCENT
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT
from fsbench_web.studies.models import RunState

STATES: dict[RunState, str] = {
    RunState.QUEUED: "It waits for its LUN, and for the runs before it.",
    RunState.LEASED: "A worker has taken it, and nobody else uses its LUN until it ends.",
    RunState.PREPARING: "The LUN is checked, erased, made into a file system and mounted.",
    RunState.RUNNING: "The benchmark runs.",
    RunState.COLLECTING: "The output is stored, read and scored.",
    RunState.DONE: "Its numbers are in the scores.",
    RunState.FAILED: "It ended with the reason that its page states. Scores leave it out.",
    RunState.CANCELLED: "Somebody stopped it. Scores leave it out.",
    RunState.LOST: "Its worker stopped responding. Scores leave it out. You can retry it.",
}


@require_safe
@requires(Action.READ)
def glossary(request: HttpRequest) -> HttpResponse:
    """What the words of the other pages mean, and how the numbers come about."""
    context = {
        "categories": [*CATEGORIES.values(), MEAN_CATEGORY],
        "flags": FLAGS.values(),
        "states": [(state, state.label.lower(), STATES[state]) for state in RunState],
        "labels": list(label_parts()),
        "margin": MARGIN_PERCENT,
        "equivalence": EQUIVALENCE_PERCENT,
        "time_zone": timezone.get_current_timezone_name(),
    }
    return render(request, "pages/glossary.html", context)


def label_parts() -> Iterator[tuple[str, str, str]]:
    """Each part of a configuration's label once: (part, option, value and what it does)."""
    explained = set()
    for filesystem in ALL.values():
        for option in filesystem.options:
            parts = [
                (choice.label, choice.value + (choice.help and f": {choice.help}"))
                for choice in option.choices
            ]
            if not option.choices:
                parts.append((option.label_template.format("N"), "N of them"))
            for part, meaning in parts:
                if (part, option.name) not in explained:
                    explained.add((part, option.name))
                    yield part, option.name, meaning
    for label in dict.fromkeys(SCHEDULER_LABELS.values()):
        names = [name for name, written in SCHEDULER_LABELS.items() if written == label]
        yield label, "I/O scheduler", " or ".join(names)
    yield EXTERNAL_JOURNAL_LABEL, "Journal", "on a LUN of its own"
