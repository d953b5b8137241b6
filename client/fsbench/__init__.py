"""Client of an fsbench site: ``Client`` for programs, ``fsbench`` for the command line."""

from fsbench.client import Client
from fsbench.transport import NotUnderstood, Problem, Unreachable

__all__ = ["Client", "NotUnderstood", "Problem", "Unreachable", "__version__"]
__version__ = "0.3.0"
