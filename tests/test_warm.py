"""What a web process does before its first request."""

import gc

from fsbench_web.warm import settle


def test_what_starting_made_is_not_looked_through_again() -> None:
    try:
        settle()
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        gc.unfreeze()
