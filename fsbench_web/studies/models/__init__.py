"""Studies, the jobs and runs in them, what the runs measured, and the scores made of it."""

from fsbench_web.studies.models.clients import ClientState, RunClient
from fsbench_web.studies.models.jobs import Job, Race, RepeatRule
from fsbench_web.studies.models.probes import LunProbe
from fsbench_web.studies.models.runs import (
    ACTIVE_STATES,
    END_STATES,
    UNTRACED,
    Artefact,
    LatencyBlock,
    LatencySeriesBlock,
    Lease,
    LogLine,
    MeasurementBlock,
    Run,
    RunActivity,
    RunState,
    RunTrace,
    StateChange,
)
from fsbench_web.studies.models.scores import (
    COMPUTED,
    RenamedTest,
    Score,
    Selection,
    WholeScores,
)
from fsbench_web.studies.models.studies import Series, StackLun, Study, client_luns
from fsbench_web.studies.models.triggers import Trigger, TriggerOrder

__all__ = [
    "ACTIVE_STATES",
    "COMPUTED",
    "END_STATES",
    "UNTRACED",
    "Artefact",
    "ClientState",
    "Job",
    "LatencyBlock",
    "LatencySeriesBlock",
    "Lease",
    "LogLine",
    "LunProbe",
    "MeasurementBlock",
    "Race",
    "RenamedTest",
    "RepeatRule",
    "Run",
    "RunActivity",
    "RunClient",
    "RunState",
    "RunTrace",
    "Score",
    "Selection",
    "Series",
    "StackLun",
    "StateChange",
    "Study",
    "Trigger",
    "TriggerOrder",
    "WholeScores",
    "client_luns",
]
