"""Loaded by Python itself at its start (PYTHONPATH): every wall clock of the process is wrong.

FSBENCH_TEST_SKEW_S says by how many seconds. Monotonic clocks stay, as on a host with a wrong date.
"""

import datetime
import os
import subprocess
import time
from typing import Any

_SKEW_S = float(os.environ.get("FSBENCH_TEST_SKEW_S", "0"))
_right_time, _right = time.time, datetime.datetime


class _IsAnyDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _right)


class _Wrong(datetime.datetime, metaclass=_IsAnyDatetime):
    __slots__ = ()

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _right.now(tz) + datetime.timedelta(seconds=_SKEW_S)

    @classmethod
    def utcnow(cls) -> Any:
        return _right.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=_SKEW_S)


class _PopenOfTheSameHost(subprocess.Popen):  # type: ignore[type-arg]
    """The agent is started with -I, which would give it another clock than its worker's."""

    def __init__(self, args: Any, *more: Any, **named: Any) -> None:
        super().__init__([word for word in args if word != "-I"], *more, **named)


if _SKEW_S:
    subprocess.Popen = _PopenOfTheSameHost  # type: ignore[misc]
    time.time = lambda: _right_time() + _SKEW_S
    datetime.datetime = _Wrong  # type: ignore[misc]
