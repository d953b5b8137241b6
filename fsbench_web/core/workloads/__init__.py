"""What fsbench can run. Pure: parameters with bounds, commands, parsers, expectations; no Django.

One module a benchmark, each a subclass of ``base.Workload``; ``registry`` knows them all, also
those that other packages bring (docs/adding-a-workload.md).
"""

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
