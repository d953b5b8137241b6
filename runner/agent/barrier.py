"""The moment at which all clients of a run begin."""

import time
from typing import Any

from runner.agent import commands, messages

# Who comes later than this has not measured together with the others.
LATE_S = 0.5
_LOOK_S = 0.05


def wait(plan: dict[str, Any]) -> None:
    """Wait until ``start_at`` of the plan, if it has one. Raises Cancelled, StepFailed if it was
    over.
    """
    start_at = plan.get("start_at")
    if start_at is None:
        return
    while (remaining_s := start_at - time.time()) > 0:
        if messages.must_stop():
            raise messages.Cancelled
        time.sleep(min(remaining_s, _LOOK_S))
    late_s = time.time() - start_at
    if late_s > LATE_S:
        raise commands.StepFailed(
            f"This client was ready {late_s:.1f} s after all were to begin: its host is too busy. "
            "Nothing was measured together."
        )
    messages.send("began", late_s=round(late_s, 6))
