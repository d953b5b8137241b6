"""What features add to the steps of a run. This is the one place where they register.

They register by name, so that a program that runs nothing loads none of them. The functions of a
list are called in its order, by ``lifecycle``.
"""

_RUNS = "fsbench_web.studies.runs"
BEFORE_CLAIM = (f"{_RUNS}.windows.closing.not_begun",)
"""(run, job, now): what is left out where a run is in turn; None: it may begin. It is locked."""
ON_CLAIM = (f"{_RUNS}.clients.parts.begin",)
"""(run, lease handle)."""
ON_INTERRUPTED = (f"{_RUNS}.repeats.replace_interrupted",)
"""(run, cause): what follows an interrupted run, in a sentence or "". The run is locked."""
ON_END = (f"{_RUNS}.repeats.write_next_repeat", f"{_RUNS}.races.continue_race")
"""(run, now): after the end of a run that counts as a repeat. The run is locked, its results are
stored.
"""
AFTER_ACTIVE = (f"{_RUNS}.clients.parts.leave",)
"""(run, reason): after the end of a run that had been claimed."""
