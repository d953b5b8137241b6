"""What a web process does once, before the first request."""

import gc
from pathlib import Path

from django.template import engines
from django.urls import get_resolver

BEFORE_A_LOOK = 10_000
"""Objects that are made and not let go of before the garbage collector looks at them. What a page
is made of goes by itself when it is written (``platform.http.templates``), but for some 150 objects
of its request; with Python's 700 the collector looked ten times a page, at what was still needed.
"""


def load_all() -> None:
    """Load every view and template, and take what that made out of the garbage collector's work.

    Some 200,000 objects live as long as the process. Looking through them for garbage takes up to
    a tenth of a second, in the middle of whatever page is being made at the time (gc.freeze).
    """
    assert get_resolver().url_patterns
    for engine in engines.all():
        for folder in engine.template_dirs:
            for path in sorted(Path(folder).rglob("*.html")):
                engine.get_template(path.relative_to(folder).as_posix())
    gc.collect()
    gc.freeze()
    gc.set_threshold(BEFORE_A_LOOK, *gc.get_threshold()[1:])
    gc.enable()
