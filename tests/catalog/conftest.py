"""The lab of the studies' tests serves here too."""

from tests.studies.conftest import ann, disk, runs, spec, worker

__all__ = ["ann", "disk", "runs", "spec", "worker"]
