"""Which addresses answer with what is drawn up: reports, workbooks, documents, pictures.

They take a hundred times what a page takes, and nobody waits for them at every click. CSV is none
of them: it costs what a page costs, and programs ask for it all day.
"""

import re

_RENDERED = re.compile(
    r"/(report/|compare/export/|export/|image\.[^/]+|pictures\.csv"
    r"|(deltas|tables)\.(?!csv$)[^/]+)$"
)


def is_rendered(path: str) -> bool:
    """Whether the answer to this path (of a request that reads) is drawn up."""
    return _RENDERED.search(path) is not None
