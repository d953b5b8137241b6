"""In which order and within which limits runs are run, as fields of the job form. No database."""

import re
import secrets
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.jobs.documents.plan import DEFAULT_REFERENCE_EVERY
from fsbench_web.studies.jobs.sequence import MAXIMUM_SEED, RANDOM
from fsbench_web.studies.jobs.spec import JobSpec

_NUMBER = re.compile(r"^[0-9]{1,12}$")
_SIGNED = re.compile(r"^-?[0-9]{1,6}$")


@dataclass
class PlanForm:
    """These fields as text, which may be text that will be refused.

    ``reference`` is a variant of the form, ``ext4.2``; "": there is no reference.
    """

    order: str = RANDOM
    seed: str = ""
    reference: str = ""
    reference_every: str = str(DEFAULT_REFERENCE_EVERY)
    priority: str = "0"
    time_limit_s: str = ""
    run_again: str = str(DEFAULT_RUN_AGAIN)

    def give_seed(self) -> None:
        """Choose a seed where a random order has none yet: what is reviewed is what is run."""
        if self.order == RANDOM and not self.seed:
            self.seed = str(secrets.randbelow(MAXIMUM_SEED + 1))

    def read_plan(self, unreadable: dict[str, list[str]]) -> dict[str, Any]:
        """order, seed, priority, time_limit_s and run_again of a JobSpec."""
        again = f"say 0 to {MOST_RUN_AGAIN}, or leave it at {DEFAULT_RUN_AGAIN}"

        def number(name: str, pattern: re.Pattern[str], sentence: str) -> int | None:
            text = getattr(self, name)
            if pattern.match(text):
                return int(text)
            if text:
                unreadable[name] = [f'"{text}" is not a whole number: {sentence}.']
            return None

        return {
            "order": self.order,
            "seed": number("seed", _NUMBER, "leave the seed empty to get one"),
            "priority": number("priority", _SIGNED, "say -10 to 10, or leave it at 0") or 0,
            "time_limit_s": number("time_limit_s", _NUMBER, "say how many seconds a run may take"),
            "run_again": number("run_again", _NUMBER, again) or 0,
        }

    def read_every(self, unreadable: dict[str, list[str]]) -> int:
        """After how many runs the reference is run again."""
        if _NUMBER.match(self.reference_every):
            return int(self.reference_every)
        unreadable["reference"] = [
            f'"{self.reference_every}" is not a whole number: say after how many runs the '
            "reference is run again."
        ]
        return DEFAULT_REFERENCE_EVERY

    def write_plan(self, query: QueryDict) -> None:
        """Put into a query string what is not left at its default."""
        usual = PlanForm()
        limits = ("priority", "time_limit_s", "run_again")
        for name in ("order", "seed", "reference", "reference_every", *limits):
            value = getattr(self, name)
            if value != getattr(usual, name) and (name != "reference_every" or self.reference):
                query[name] = value


def read_plan(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``PlanForm``."""
    usual = PlanForm()
    found = {name: query.get(name, getattr(usual, name)).strip() for name in vars(usual)}
    return {name: value or getattr(usual, name) for name, value in found.items()}


def plan_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a request says, without the reference (a variant of the form)."""
    fields = {"order": spec.order, "priority": str(spec.priority)}
    if spec.seed is not None:
        fields["seed"] = str(spec.seed)
    if spec.time_limit_s is not None:
        fields["time_limit_s"] = str(spec.time_limit_s)
    fields["run_again"] = str(spec.run_again)
    return fields
