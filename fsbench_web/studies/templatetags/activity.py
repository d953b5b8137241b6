"""``{% activity_rows activity %}``: hundreds of rows of numbers, written without a loop of tags."""

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from fsbench_web.studies.activity.shown import ShownActivity

register = template.Library()


@register.simple_tag
def activity_rows(activity: ShownActivity) -> SafeString:
    """A row an interval: its seconds, the phase, a value a column."""
    return mark_safe(  # noqa: S308 (numbers, and a phase that is escaped)
        "".join(
            f'<tr><th scope="row" class="num">{start:.1f}–{end:.1f}</th><td>{escape(phase)}</td>'
            + "".join(
                f'<td class="num">{"–" if value is None else f"{value:,.4g}"}</td>'
                for value in values
            )
            + "</tr>\n"
            for start, end, phase, values in activity.rows
        )
    )
