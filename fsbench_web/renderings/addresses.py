"""Which addresses answer with a slow file: reports, workbooks, pictures, Parquet. Not CSV."""

import re

_RENDERED = re.compile(
    r"/(report/|compare/export/|export/|image\.[^/]+|pictures\.csv"
    r"|(deltas|tables|measurements|scores)\.(?!csv$)[^/]+|sealed\.zip)$"
)


def is_rendered(path: str) -> bool:
    """Whether the answer to this path (of a request that reads) is drawn up."""
    return _RENDERED.search(path) is not None
