"""``{% measured measurement %}``: one number of a run, with its line of the raw output and its flags.

A tag and not an included template: a run has a thousand of them, and an include of each took most
of the time of its page.
"""

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from fsbench_web.figures import numbers
from fsbench_web.studies.models import Measurement

register = template.Library()


@register.simple_tag(takes_context=True)
def measured(
    context: template.Context, measurement: Measurement, with_unit: bool = False
) -> SafeString:
    """The value, led to its line where that is known; ``with_unit`` where no heading says it."""
    write = numbers.with_unit if with_unit else numbers.amount
    value = write(measurement.value, measurement.unit)
    if measurement.line and measurement.artefact_id:
        address = _lines(context, measurement.run_id, measurement.artefact_id)
        shown = format_html(
            '<a class="is-quiet" title="Line {0} of the raw output" href="{1}?line={0}#L{0}">{2}</a>',
            measurement.line,
            address,
            value,
        )
    else:
        shown = format_html("{}", value)
    if not measurement.flags:
        return shown
    flags = format_html_join(
        "",
        ' <span class="flag" title="{}">{}</span>',
        ((flag.sentence, flag.label) for flag in measurement.flag_words),
    )
    return mark_safe(shown + flags)  # noqa: S308 - both are escaped already


def _lines(context: template.Context, run_id: int, artefact_id: int) -> str:
    """The address of an artefact's lines; resolved once a page, as all cells lead to one or two."""
    known = context.render_context.setdefault("measured", {})
    key = (run_id, artefact_id)
    if key not in known:
        known[key] = reverse("studies:artefact_lines", args=key)
    return str(known[key])
