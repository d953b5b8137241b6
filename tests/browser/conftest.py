"""The lab of the studies' tests serves here too."""

from tests.studies.conftest import ann, disk, spec, worker

__all__ = ["ann", "disk", "spec", "worker"]
