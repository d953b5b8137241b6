"""What a web process does once, before the first request."""

import gc

from django.urls import get_resolver


def settle() -> None:
    """Load every view, and take what that made out of the garbage collector's work.

    Some 150,000 objects live as long as the process. Looking through them for garbage takes up to
    a tenth of a second, in the middle of whatever page is being made at the time (gc.freeze).
    """
    assert get_resolver().url_patterns
    gc.collect()
    gc.freeze()
