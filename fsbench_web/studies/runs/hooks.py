"""What features add to the steps of a run. This is the one place where they register."""

from fsbench_web.studies.runs import lifecycle, races, repeats
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.windows import closing


def register() -> None:
    """Once in each process, when Django starts. Hooks of a list are called in its order."""
    lifecycle.BEFORE_CLAIM.append(closing.not_begun)
    lifecycle.ON_CLAIM.append(parts.begin)
    lifecycle.ON_INTERRUPTED.append(repeats.replace_interrupted)
    lifecycle.ON_END.extend((repeats.write_next_repeat, races.continue_race))
    lifecycle.AFTER_ACTIVE.append(parts.leave)
