"""The rows of a study's configurations, written here for the same reason as those of its tables."""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString

from fsbench_web.compare.templatetags.writing import escaped
from fsbench_web.compare.views.shown_series import ShownSeries

MISSING = '<span class="muted">–</span>'
NOT_STATED = '<span class="muted">not stated</span>'

register = template.Library()


@register.simple_tag
def series_rows(series: Iterable[ShownSeries]) -> SafeString:
    """A row for each series of a study."""
    return SafeString("".join(map(_row, series)))  # what is not written here is escaped


def _row(series: ShownSeries) -> str:
    machine = series.machine
    guest = f'<span class="sub">{escaped(machine.words)}</span>' if machine.words else ""
    if guest and machine.is_emulated:
        guest += ' <span class="flag">emulated: for function, not for speed</span>'
    return "".join(
        [
            f'\n        <tr><th scope="row">{escaped(series.configuration)}',
            "" if series.is_known else '<span class="sub">options not known</span>',
            f'<span class="sub">{escaped(series.preparation)} before each run</span>'
            if series.preparation
            else "",
            guest,
            *(f'<span class="sub">{escaped(line)}</span>' for line in series.repeats),
            f"</th>\n          <td>{escaped(series.workload) or NOT_STATED}</td>\n          ",
            f"<td>{escaped(series.lun) or MISSING}</td>\n          <td>",
            f'<a href="/hardware/{escaped(series.hardware)}/">{escaped(series.hardware_name)}</a>'
            if series.hardware
            else NOT_STATED,
            f"</td>\n          <td>{escaped(series.kernel) or NOT_STATED}</td>\n          ",
            f'<td class="num">{series.done_count} of {series.run_count}',
            f'<span class="sub">{series.failed_count} ended without a result</span>'
            if series.failed_count
            else "",
            "</td></tr>",
        ]
    )
