"""Numbers of a run, each with its line in the raw output and its flags.

``{% measured measurement %}``  one of them
``{% measured_rows matrix %}``  the rows of a table of one test: a file size, a column a record size

Tags and not templates: a run has a thousand numbers, and a template's loop over them took most of
the time of its page.
"""

from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.core import numbers
from fsbench_web.core.scoring.quality import FLAGS
from fsbench_web.figures.heatmap import size_name
from fsbench_web.studies.scores.measurements import Measurement
from fsbench_web.studies.views.run_details import TestMatrix

register = template.Library()


@register.simple_tag
def measured(measurement: Measurement, with_unit: bool = False) -> SafeString:
    """The value, led to its line where that is known; ``with_unit`` where no heading says it."""
    unit, value = measurement.unit, measurement.value
    scale = numbers.scale_of(unit, [value]) if with_unit else _scale(unit)
    written = _written(measurement, scale)
    return SafeString(
        _linked(measurement, (written + escape(scale.suffix(unit))) if with_unit else written)
    )


@register.simple_tag
def measured_rows(matrix: TestMatrix) -> SafeString:
    """A ``tr`` for each file size; an en dash where nothing was measured."""
    parts, scale = [], _scale(matrix.unit)
    for file_kb, measurements in matrix.rows:
        parts.append(f'<tr><th scope="row" class="nowrap">{escape(size_name(file_kb))}</th>')
        for measurement in measurements:
            # An amount is digits, commas, a point and a sign, or the dash: nothing to escape.
            number = numbers.MISSING
            if measurement:
                number = _linked(measurement, _written(measurement, scale))
            parts.append(f'<td class="num">{number}</td>')
        parts.append("</tr>")
    return SafeString("".join(parts))  # each part is escaped, or a number


def _scale(unit: str) -> numbers.Scale:
    """What numbers of a table are written in: the unit that they were printed in."""
    return numbers.Scale(numbers.unit_name(unit), 1000.0 if unit == "ns" else 1.0)


def _written(measurement: Measurement, scale: numbers.Scale) -> str:
    """The number with as many digits as tables have, in HTML: all of them on demand."""
    written = scale.amount(measurement.value)
    exact = numbers.exact_words(measurement.value, measurement.unit, written)
    return f'<span title="{escape(exact)}">{written}</span>' if exact else written


def _linked(measurement: Measurement, markup: str) -> str:
    """``markup``, which is HTML, led to its line and with its flags; HTML too."""
    if measurement.line and measurement.artefact_id:
        line = int(measurement.line)
        address = _lines(measurement.run_id, measurement.artefact_id)
        markup = (
            f'<a class="is-quiet" title="Line {line} of the raw output"'
            f' href="{address}?line={line}#L{line}">{markup}</a>'
        )
    return markup + _flags(tuple(measurement.flags)) if measurement.flags else markup


@lru_cache(maxsize=256)
def _flags(slugs: tuple[str, ...]) -> str:
    return format_html_join(
        "",
        ' <span class="flag" title="{}">{}</span>',
        ((FLAGS[slug].sentence, FLAGS[slug].label) for slug in slugs if slug in FLAGS),
    )


# Of a page all cells lead to one or two artefacts, and an address is looked up slowly.
@lru_cache(maxsize=256)
def _lines(run_id: int, artefact_id: int) -> str:
    return escape(reverse("studies:artefact_lines", args=(run_id, artefact_id)))
