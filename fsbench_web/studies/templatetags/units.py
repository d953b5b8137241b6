"""How numbers and their units are written on pages.

- ``{{ score.value|score:score.unit }}``: 1,147,056.63 (no unit; a missing number is an en dash)
- ``{{ score.value|quantity:score.unit }}``: 692,055.00 KB/s
- ``{{ score.unit|unit_name }}``: the unit that ``score`` writes in: µs for ns
- ``{{ delta|percent }}``: 51.88
- ``{{ lun.size_bytes|bytes }}``: 527.9 GiB (1 KiB = 1024 bytes)
- ``{{ guest.memory_mib|mebibytes }}``: 1.5 GiB
- ``{{ cell.file_size_kb|kilobytes }}``: 4 GB (as IOzone writes it, 1 KB = 1024 bytes)
- ``{{ run.remaining_s|duration }}``: 2 h 5 min
- ``{{ worker.seen_at|since }}``: 40 seconds
- ``{{ "random_write"|words }}``: Random write
- ``{{ row.half_width_percent|half_width }}``: ± 3.1% (nothing where it is not known)
- ``{{ own.percent_from_mean|from_mean }}``: 2.0% below the mean
- ``{{ row.interval|interval_ends:"s" }}``: 1.20 to 1.43 s
- ``{{ "mkfs"|test_name }}``: File system creation
- ``{{ "randread"|block_word }}``: block (``:True``: record, of a paper)
- ``{{ "threads=8"|load_words }}``: 8 threads
"""

from datetime import datetime

from django import template
from django.utils.html import format_html

from fsbench_web.core import numbers
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.platform import clock

register = template.Library()


def _float(value: object) -> float | None:
    """The number in ``value``; None for nothing and for text that is no number."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _exact_on_demand(text: str, value: object, unit: str) -> str:
    exact = numbers.exact_amount(_float(value), unit)
    return format_html('<span title="{}">{}</span>', exact, text) if exact else text


@register.filter
def score(value: object, unit: str = "KB/s") -> str:
    """A score with the decimals of its unit, without the unit; exact in its title."""
    return _exact_on_demand(numbers.amount(_float(value), unit), value, unit)


@register.filter
def quantity(value: object, unit: str = "") -> str:
    """A value with its unit; exact in its title, where it is stored in another."""
    return _exact_on_demand(numbers.with_unit(_float(value), unit), value, unit)


@register.filter
def unit_name(value: object) -> str:
    """The unit in which ``score`` writes values of this unit, for headings."""
    return numbers.unit_name(str(value))


@register.filter
def percent(value: object) -> str:
    """A delta in percent, two decimals; the column's head says that it is percent."""
    return numbers.percent(_float(value))


@register.filter
def signed(value: object, decimals: int = 2) -> str:
    """A change in percent with its sign: ``+1.25``, ``\N{MINUS SIGN}0.40``; none has none."""
    number = _float(value)
    return numbers.MISSING if number is None else numbers.signed_percent(number, decimals)


@register.filter
def bytes(value: object) -> str:
    """A number of bytes in a readable unit of 1024."""
    return numbers.size(_float(value))


@register.filter
def mebibytes(value: object) -> str:
    """A number of MiB in a readable unit of 1024."""
    number = _float(value)
    return numbers.size(None if number is None else number * numbers.KB**2)


@register.filter
def kilobytes(value: object) -> str:
    """A size of a benchmark's files or records, given in KB of 1024 bytes, in a readable unit."""
    return numbers.benchmark_size(_float(value))


@register.filter
def duration(value: object) -> str:
    """A number of seconds in a readable unit."""
    return numbers.duration(_float(value))


@register.filter
def since(value: datetime) -> str:
    """How long ago that was, in seconds where it is less than a minute."""
    return clock.elapsed(value)


@register.filter
def half_width(value: object) -> str:
    """The half-width of a 95% interval in percent of its score; "" where not known."""
    number = _float(value)
    return "" if number is None else numbers.half_width(number)


@register.filter
def from_mean(value: object) -> str:
    """How far a repeat is from the mean of all, in percent; "" where not known."""
    number = _float(value)
    if number is None:
        return ""
    if number == 0:
        return "equal to the mean"
    side = "below" if number < 0 else "above"
    return f"{numbers.percent_size(abs(number), 1)}% {side} the mean"


@register.filter
def interval_ends(value: Interval | None, unit: str = "") -> str:
    """Both ends of an interval with their unit; an en dash where there is none."""
    return numbers.span(value.low, value.high, unit) if value else numbers.MISSING


@register.filter
def block_word(value: object, is_published: bool = False) -> str:
    """What the size is of that a test was measured by."""
    return testnames.block_word(str(value), is_published=is_published)


@register.filter
def test_name(value: object) -> str:
    """The name of a test as people read it, with its load where it has one."""
    return testnames.label(str(value))


@register.filter
def load_words(value: object) -> str:
    """A load as people read it: iodepth=4 is "queue depth 4"."""
    return loads.words(str(value or ""))


@register.filter
def words(value: object) -> str:
    """The slug of a test or category in words."""
    return numbers.words(str(value))
