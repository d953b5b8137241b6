"""What a web process does once, before the first request."""

import gc
from pathlib import Path

from django.template import engines
from django.urls import get_resolver


def settle() -> None:
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
    gc.enable()
