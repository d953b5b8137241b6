"""File system benchmarks: compare files here, or use a site with ``Site``, also called ``Client``.

``compare`` and ``read`` need no site. What they use is loaded with the first call.
"""

import os
from typing import TYPE_CHECKING

from fsbench.client import Client, Site
from fsbench.transport import Problem, UnexpectedResponse, Unreachable

if TYPE_CHECKING:
    from fsbench.local.comparison import LocalComparison
    from fsbench.local.numbers import Numbers

__all__ = [
    "Client",
    "Problem",
    "Site",
    "UnexpectedResponse",
    "Unreachable",
    "__version__",
    "compare",
    "read",
]
__version__ = "0.11.0"


def compare(
    *paths: str | os.PathLike[str],
    by: str = "",
    baseline: str = "",
    equivalence: float = 2.0,
    blocks: str = "",
    units: str = "",
) -> "LocalComparison":
    """Which results are faster, and how sure that is: ``compare("ext4/", "xfs/").sentence``.

    ``paths`` are folders, files, patterns and archives: of several folders each is an entry.
    ``by``: folder, configuration, filesystem, kernel, hardware or workload; "" chooses.
    ``equivalence``: percent below which a difference is none. ``blocks="folders"``: files in
    folders of one name were measured as a round. ``units``: binary, decimal or printed.
    Raises ValueError where no file holds a number.
    """
    from fsbench.local.comparison import compare as compare_files

    return compare_files(
        *paths, by=by, baseline=baseline, equivalence=equivalence, blocks=blocks, units=units
    )


def read(*paths: str | os.PathLike[str]) -> "Numbers":
    """All numbers of result files with their units: ``read("fio.json").to_pandas()``.

    Raises ValueError where no file holds a number.
    """
    from fsbench.local.numbers import read as read_files

    return read_files(*paths)
