"""The lab of the studies' tests serves here too."""

from tests.studies.conftest import ann, disk, order, worker

__all__ = ["ann", "disk", "order", "worker"]
