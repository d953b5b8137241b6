"""Client of an fsbench site: ``Client`` for programs, ``fsbench`` for the command line."""

from fsbench.client import Client
from fsbench.transport import Problem, UnexpectedResponse, Unreachable

__all__ = ["Client", "Problem", "UnexpectedResponse", "Unreachable", "__version__"]
__version__ = "0.11.0"
