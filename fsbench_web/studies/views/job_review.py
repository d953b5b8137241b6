"""What a job would do, for the page on which it is confirmed: submitted by form or by document."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

from fsbench_web.catalog.configurations.filesystems import RAW
from fsbench_web.catalog.configurations.stacks import DATA
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import memory_words
from fsbench_web.core.workloads import Place
from fsbench_web.studies.jobs import estimates, submit_warnings, submitting
from fsbench_web.studies.jobs.features import race
from fsbench_web.studies.jobs.planned_runs import Plan, PlannedRun
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import Study
from fsbench_web.studies.runs import repeats
from fsbench_web.studies.runs.listing import runs_before
from fsbench_web.studies.sequence import RANDOM
from runner.safety import lun_identity


def review_context(
    spec: JobSpec, plan: Plan, token: str, refused: JobRefused | None = None
) -> dict[str, Any]:
    """The context of ``studies/job_review.html``; ``plan`` is ``submitting.planned``."""
    runs, lun = plan.runs, plan.runs[0].lun
    study = Study.objects.filter(slug=spec.study).first() if spec.study else None
    expected = estimates.of_planned(runs)
    return {
        "lun": lun,
        "rows": list(zip(runs, expected, strict=True)),
        "runs": runs,
        **_planned(runs),
        **_erased(plan),
        **submit_warnings.by_kind(spec, runs),
        "remounts_nothing": _remounts_nothing(runs),
        "repeat_count": spec.planned_repeats,
        "most_runs": plan.most_runs,
        "left_out": plan.left_out,
        "window": plan.window,
        "guest": _guest(plan) if spec.guest else None,
        "total": estimates.total(expected),
        "at_least_s": estimates.at_least_s(runs, expected),
        "sets_scheduler": any(run.scheduler for run in runs),
        "products": estimates.products(runs, expected),
        "bases": list(
            dict.fromkeys(estimate.basis for estimate in expected if estimate is not None)
        ),
        "until": spec.until,
        "until_words": repeats.target_in_words(spec.until) if spec.until else "",
        "is_bisection": spec.is_bisection,
        "race_words": race.in_words(spec.race, runs[0].workload[1]) if spec.race else "",
        "preparation": spec.preparation.words(),
        "limits": _limits(runs),
        "is_random": spec.order == RANDOM,
        "job": spec,
        "time_limit_s": plan.time_limit_s,
        "study_title": study.title if study else spec.new_study,
        "is_new_study": study is None,
        "waiting": runs_before([lun]).get(lun.pk, 0),
        "confirmation_text": submitting.confirmation_text(spec),
        "token": token,
        "seen": plan.device_digest,
        "refused": refused,
    }


def _planned(runs: list[PlannedRun]) -> dict[str, Any]:
    """What is run, each once with its commands, the reference too; and how much of it."""
    planned = [run for run in runs if not (run.is_reference or run.tracing)]
    references = sum(run.is_reference for run in runs)
    distinct = {(_key_of(run), run.workload, run.machine): run for run in runs[::-1]}
    return {
        "configurations": list(distinct.values())[::-1],
        "configuration_count": len({_key_of(run) for run in planned}),
        "workloads": list(dict.fromkeys(run.workload_title for run in planned)),
        "references": references,
        "extra": len(runs) - len(planned) - references,
    }


def _key_of(run: PlannedRun) -> tuple[Hashable, ...]:
    """The configuration, and the LUNs besides the one that is measured."""
    return run.configuration, run.journal, run.members


def _erased(plan: Plan) -> dict[str, Any]:
    """What is erased how often, and the devices. ``others`` are (LUN, what for, how often)."""
    erasures = sum(run.erases for run in plan.runs)
    times = Counter(lun for run in plan.runs for lun in run.erased)
    uses = {run.journal: "Journal LUN" for run in plan.runs if run.journal}
    for role, lun in (member for run in plan.runs for member in run.members):
        uses.setdefault(lun, "LUN of the stack" if role == DATA else f"LUN for the {role}")
    return {
        "erasures": erasures,
        "most_erasures": plan.most_runs if erasures else 0,
        "makes_filesystem": any(run.filesystem != RAW for run in plan.runs),
        "has_raw": any(run.filesystem == RAW for run in plan.runs),
        "others": [
            (lun, uses[lun], count) for lun, count in times.items() if lun != plan.runs[0].lun
        ],
        "confirmed": [(lun, lun_identity.in_words(lun.fingerprint)) for lun in times],
    }


def _remounts_nothing(runs: list[PlannedRun]) -> bool:
    """Whether a workload wants the file system remounted where that cannot be done."""
    lun = runs[0].lun
    return lun.is_folder and any(
        command.remount for run in runs for command in run.workload[1].commands(Place(lun.device))
    )


def _guest(plan: Plan) -> dict[str, Any]:
    """What boots the runs: ``kernels`` are (name, version, seconds, whether measured)."""
    machine = plan.runs[0].machine
    ability = availability.guest(plan.lun.worker)
    kernels = {
        run.machine.kernel: (run.machine.kernel, run.kernel, *(run.boot_s or (0.0, False)))
        for run in plan.runs
    }
    return {
        "kernels": list(kernels.values()),
        "memory": memory_words(machine.memory_bytes),
        "cpus": machine.cpus,
        "is_emulated": machine.is_emulated,
        "why_emulated": ability.accelerator_reason if ability else "",
        "boots_s": sum(run.boot_s[0] for run in plan.runs if run.boot_s),
    }


def _limits(runs: list[PlannedRun]) -> list[str]:
    """Those of the runs, each once; empty where none is limited."""
    limits = list(dict.fromkeys(run.machine.limits.words for run in runs))
    return [words or "none" for words in limits] if any(limits) else []
