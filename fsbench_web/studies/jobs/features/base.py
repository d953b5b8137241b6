"""What a feature of a job is: fields, their place in the form, and what can be wrong with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from fsbench_web.catalog.models import Lun
from fsbench_web.core.workloads import Workload
from fsbench_web.studies.jobs.problems import Problems

VALUE, NEEDED, AMOUNT, FLAG, TEXT, TIME, LIST, NAMES = range(8)
"""What a field of the form holds. VALUE, NEEDED and AMOUNT are numbers, LIST is several of them.

NEEDED has to be there, and an AMOUNT of 0 is none. NAMES are several texts.
"""
ALWAYS, ADVANCED, STEERING = range(3)
"""Where the form shows a feature: folded under Advanced, or there with order and times."""
Workloads = Sequence[tuple[str, Workload]]
_NOTHING = {FLAG: "no", AMOUNT: "0"}


@dataclass(frozen=True)
class FormField:
    """A field of the form: where it is in the job, and what it says untouched.

    ``asked`` is what to say where it cannot be read, ``words`` how a summary shows it, ``label``
    what sentences call it that name it by its key. ``name`` is what the form calls it, "": as the
    job does.
    """

    place: str
    asked: str = ""
    words: str = ""
    kind: int = VALUE
    usual: str = ""
    name: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.place.rpartition(".")[2])

    def is_usual(self, text: str | list[str]) -> bool:
        return not text or text in (self.usual, _NOTHING.get(self.kind, self.usual))


class Feature(BaseModel):
    """Fields of a job that belong together: of the API, of documents and, by name, of the form.

    ``parts``, with their defaults, hold several values: a document says only what differs, and the
    form tells their problems together.
    """

    model_config = ConfigDict(frozen=True)

    shown: ClassVar[int] = ADVANCED
    form_fields: ClassVar[Sequence[FormField]] = ()
    parts: ClassVar[Mapping[str, Any]] = {}
    is_checked_last: ClassVar[bool] = False

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        """Note what is wrong with these fields; ``workloads`` are those that can be read.

        A feature that has to know another one, as guests, says ``assert isinstance(self, Guest)``.
        """

    def longer_s(self, lun: Lun) -> int:
        """How many seconds longer a run may take because of them."""
        return 0
