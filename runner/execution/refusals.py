"""What may be said before anything is erased or measured."""

from fsbench_web.catalog.configurations.filesystems import OptionError
from fsbench_web.catalog.configurations.preparation import PreparationError
from fsbench_web.core.workloads import ParameterError
from runner.execution.places import RunRefused
from runner.host.tuning.scheduler import SchedulerError
from runner.plan import PlanError
from runner.safety.locks import LockedElsewhere
from runner.worker import LunUnusable

REFUSALS = (
    RunRefused,
    LunUnusable,
    LockedElsewhere,
    PlanError,
    OptionError,
    ParameterError,
    PreparationError,
    SchedulerError,
)
