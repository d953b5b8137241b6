"""``{% measured measurement %}``: one number of a run, with its line in the raw output and flags.

A tag and not an included template: a run has a thousand of them, and an include of each took most
of the time of its page.
"""

from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.figures import numbers
from fsbench_web.studies.models import Measurement

register = template.Library()


@register.simple_tag
def measured(measurement: Measurement, with_unit: bool = False) -> SafeString:
    """The value, led to its line where that is known; ``with_unit`` where no heading says it."""
    write = numbers.with_unit if with_unit else numbers.amount
    value = write(measurement.value, measurement.unit)
    shown: str = escape(value)
    if measurement.line and measurement.artefact_id:
        line = int(measurement.line)
        address = _lines(measurement.run_id, measurement.artefact_id)
        shown = (
            f'<a class="is-quiet" title="Line {line} of the raw output"'
            f' href="{address}?line={line}#L{line}">{shown}</a>'
        )
    if not measurement.flags:
        return SafeString(shown)  # each part of it is escaped above
    flags = format_html_join(
        "",
        ' <span class="flag" title="{}">{}</span>',
        ((flag.sentence, flag.label) for flag in measurement.flag_words),
    )
    return SafeString(shown + flags)  # both are escaped already


# Of a page all cells lead to one or two artefacts, and an address is looked up slowly.
@lru_cache(maxsize=256)
def _lines(run_id: int, artefact_id: int) -> str:
    return escape(reverse("studies:artefact_lines", args=(run_id, artefact_id)))
