"""What fsbench can run: a subclass of ``base.Workload`` each, all in ``registry``. Pure."""

from fsbench_web.core.workloads.base import (
    MOUNT_POINT,
    BenchmarkCommand,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Workload,
)
from fsbench_web.core.workloads.registry import presets, tools, workload_of, workload_types

__all__ = [
    "MOUNT_POINT",
    "BenchmarkCommand",
    "Parameter",
    "ParameterError",
    "Place",
    "Preset",
    "Workload",
    "presets",
    "tools",
    "workload_of",
    "workload_types",
]
