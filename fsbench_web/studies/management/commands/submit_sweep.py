"""manage.py submit_sweep: what submit_job was called before, for scripts that say so."""

from fsbench_web.studies.management.commands.submit_job import Command

__all__ = ["Command"]
