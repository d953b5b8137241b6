"""Which addresses answer with a file that takes long: reports, workbooks, pictures. Not CSV."""

import re

_RENDERED = re.compile(
    r"/(report/|compare/export/|export/|image\.[^/]+|pictures\.csv"
    r"|(deltas|tables)\.(?!csv$)[^/]+)$"
)


def is_rendered(path: str) -> bool:
    """Whether the answer to this path (of a request that reads) is drawn up."""
    return _RENDERED.search(path) is not None
