"""What programs call by name and rows have by number: LUNs, studies; and jobs of documents."""

import secrets
from collections.abc import Mapping

from fsbench_web.catalog.models import Lun
from fsbench_web.platform.names import is_called, slug_of
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.models import Study
from fsbench_web.studies.sequence import MAXIMUM_SEED, RANDOM


def lun_named(name: str, worker: str = "") -> tuple[int | None, str]:
    """The LUN's number, or a sentence that says why it is not clear which one is meant."""
    luns = Lun.objects.select_related("worker").filter(name=name)
    if worker:
        luns = luns.filter(worker__name=worker)
    ordered = list(luns.order_by("-is_listed", "worker__name"))
    listed = [lun for lun in ordered if lun.is_listed]
    if len(listed) > 1:
        workers = ", ".join(lun.worker.name for lun in listed)
        return None, f"{len(listed)} workers have a LUN {name}: add worker, one of {workers}."
    if ordered:
        return ordered[0].pk, ""
    listed_names = Lun.objects.filter(is_listed=True).values_list("name", flat=True).distinct()
    names = ", ".join(listed_names.order_by("name")[:20]) or "none yet: a worker announces them"
    where = f" on the worker {worker}" if worker else ""
    return None, f'There is no LUN "{name}"{where}; there is {names}.'


def existing_study(text: str) -> str:
    """The slug of the study that is meant, or "" where one is to be made: as with imports."""
    study = Study.objects.filter(slug=slug_of(text)).first()
    return study.slug if study and is_called(text, study.slug, study.title) else ""


def _usual_scheduler(plan: JobSpec, lun_id: int | None) -> str:
    """The scheduler in effect on the LUN, where the document leaves it open; else ""."""
    if lun_id is None or "schedulers" in (plan.document or {}):
        return ""
    wanted = [*plan.configurations, *([plan.reference.configuration] if plan.reference else [])]
    if all(configuration.scheduler for configuration in wanted):
        return ""
    lun = Lun.objects.get(pk=lun_id)
    return lun.scheduler if lun.scheduler in lun.schedulers else ""


def spec_of(document: object) -> JobSpec:
    """The job that a document asks for; what is wrong with it is in ``unreadable``.

    It gets a seed and the LUN's scheduler where they are missing; its document holds both.
    """
    plan = expand(document)
    lun_id, problem = lun_named(plan.lun, plan.worker) if plan.lun else (None, "")
    notes: tuple[str, ...] = ()
    if (scheduler := _usual_scheduler(plan, lun_id)) and isinstance(document, Mapping):
        plan = expand({**document, "schedulers": [scheduler]})
        notes = (
            f"The job file names no I/O scheduler: {scheduler} is used, which is in effect on "
            f"{plan.lun} now.",
        )
    problems = {place: list(sentences) for place, sentences in plan.unreadable.items()}
    if problem:
        problems.setdefault("lun", []).append(problem)
    seed, written = plan.seed, dict(plan.document or {})
    if plan.order == RANDOM and seed is None and "seed" not in problems:
        seed = written["seed"] = secrets.randbelow(MAXIMUM_SEED + 1)
    slug = existing_study(plan.study) if plan.study else ""
    return plan.model_copy(
        update={
            "lun_id": lun_id,
            "study": slug,
            "new_study": "" if slug else plan.study,
            "seed": seed,
            "notes": notes,
            "document": written,
            "unreadable": problems,
        }
    )
