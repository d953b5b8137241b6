"""Times as the form says them: in the site's zone, which stands beside the field. No database."""

import re
from datetime import UTC, datetime

from django.utils import timezone

_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?")


def with_zone(text: str) -> str:
    """``2026-11-23T22:00`` as ISO 8601 with its zone; anything else as it is, to be refused.

    So is a time that comes twice, or never, because clocks are changed: nobody knows which is
    meant.
    """
    if not _LOCAL.fullmatch(text):
        return text
    try:
        local = datetime.fromisoformat(text).replace(tzinfo=timezone.get_current_timezone())
        other = local.replace(fold=1)
        if local.utcoffset() != other.utcoffset():
            return text
        return local.isoformat()
    except (ValueError, OverflowError):
        return text


def local(text: str) -> str:
    """The inverse: what has a zone, in the site's; anything else as it is."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return text
        local_time = timezone.localtime(moment.astimezone(UTC)).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return text
    written = local_time.isoformat(timespec="minutes" if not local_time.second else "seconds")
    # A time that comes twice keeps its zone.
    return written if with_zone(written) != written else text


def site_zone() -> str:
    """The name of the site's zone: "Europe/Berlin"."""
    return timezone.get_current_timezone_name()
