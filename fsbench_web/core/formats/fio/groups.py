"""Jobs that fio's group_reporting puts together under the name of the first of them. Pure.

Processes of one job belong together; several jobs of a group do not. Tried with fio 3.33: its JSON
gives the options of the last of them, its ordinary report says what each was to do.
"""

import re
from collections.abc import Mapping, Sequence

from fsbench_web.core.formats.json_text import JsonObject
from fsbench_web.core.formats.values import test_name

_ONE_WAY = ("read", "write", "trim")


def is_sum_of_several(entry: JsonObject, name: str, options: Mapping[str, str]) -> bool:
    """Whether an entry of the JSON is of other jobs too: its options are of one with another name,
    it did what they do not ask for, or it was at work for longer than its processes can have been.
    """
    own_name = options.get("name", "")
    if own_name and test_name(own_name) != name:
        return True
    direction = re.sub("^rand", "", options.get("rw") or options.get("readwrite", ""))
    # What was written may be read again to verify it.
    if direction in _ONE_WAY and not any(option.startswith("verify") for option in options):
        others = [kind for kind in _ONE_WAY if kind != direction]
        if any(_number(entry.object(kind), "io_bytes") for kind in others):
            return True
    ran_ms, elapsed_s = _number(entry, "job_runtime"), _number(entry, "elapsed")
    count = options.get("numjobs") or "1"
    if not elapsed_s or not re.fullmatch("[0-9]{1,9}", count):
        return False
    return ran_ms > int(count) * elapsed_s * 1000


def several_jobs(name: str, names: Sequence[str] = ()) -> str:
    """What to say of such an entry; ``names`` of its jobs where they are known."""
    which = f" ({', '.join(names)})"[:200] if names else ""
    said = "" if names else ", of which fio prints the options of the last alone"
    return (
        f"{name} is the sum of several jobs{which} by group_reporting{said}: what each of them did "
        "cannot be told. Put new_group or stonewall into each job, or leave group_reporting out."
    )


def _number(json_object: JsonObject, key: str) -> float:
    number = json_object.number(key)
    return float(number.text) if number is not None else 0.0
