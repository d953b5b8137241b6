"""Tags that put plotly figures into pages, as data; ``static/js/figures.js`` draws them.

``{% figure fig "write-overall" %}``               one figure
``{% figure_choice figures "write" "Category" %}`` several under one select box: {label: figure};
                                                   a fourth argument names the one shown first
``{% figure_script %}``                            once, in the scripts block
"""

import json
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
from django import template
from django.core.serializers.json import DjangoJSONEncoder
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
# As django.utils.html.json_script has them: nothing within can end the script element.
_ESCAPED = ((">", "\\u003E"), ("<", "\\u003C"), ("&", "\\u0026"))
PLOTLY = "vendor/plotly-cartesian-4.1.1.min.js"


@register.simple_tag
def figure(fig: go.Figure | None, element_id: str) -> SafeString | str:
    """One figure, with its text alternative; nothing where there is no figure."""
    if fig is None:
        return ""
    return _html({"": fig}, element_id, "")


@register.simple_tag
def figure_choice(
    figures: Mapping[str, go.Figure], element_id: str, label: str, first: str = ""
) -> SafeString | str:
    """Several figures under one select box named ``label``.

    ``first`` is drawn first, where there is one of that name, else the first of them.
    """
    if not figures:
        return ""
    return _html(figures, element_id, label, first)


@register.simple_tag
def figure_script() -> SafeString:
    """The script that fetches what draws figures, and that plotly.js, when the first is in view."""
    return format_html(
        '<script defer src="{}" data-draws="{}" data-plotly="{}"></script>',
        static("js/figures-seen.js"),
        static("js/figures.js"),
        static(PLOTLY),
    )


def _html(
    figures: Mapping[str, go.Figure], element_id: str, label: str, first: str = ""
) -> SafeString:
    panels = [_panel(name, fig) for name, fig in figures.items()]
    choice: SafeString | str = ""
    if len(panels) > 1:
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            (
                (i, mark_safe(" selected") if p["label"] == first else "", p["label"])
                for i, p in enumerate(panels)
            ),
        )
        choice = format_html(
            '<div class="field plot-choice"><label for="{0}-choice">{1}</label>'
            '<select id="{0}-choice" data-figure-choice autocomplete="off">{2}</select></div>',
            element_id,
            label,
            options,
        )
    summaries = format_html_join(" ", "<span>{}</span>", ((panel["summary"],) for panel in panels))
    return format_html(
        '<figure class="plot" id="{0}" data-figure="{0}-data">{2}'
        '<div class="plot-canvas" style="--chart-px: {1}" role="group" '
        'aria-labelledby="{0}-caption"></div>'
        '<p class="plot-downloads"><button type="button" class="btn is-quiet is-small" hidden '
        'data-figure-download="png">PNG<span class="visually-hidden"> of this chart</span></button>'
        '<button type="button" class="btn is-quiet is-small" hidden data-figure-download="svg">'
        'SVG<span class="visually-hidden"> of this chart</span></button></p>'
        '<figcaption class="visually-hidden" id="{0}-caption">{3}</figcaption>'
        '<noscript><p class="notice is-info">This chart is drawn by JavaScript, which is switched '
        "off. {3}</p></noscript>{4}</figure>",
        element_id,
        max(panel["layout"].get("height") or 0 for panel in panels),
        choice,
        summaries,
        _data(panels, f"{element_id}-data"),
    )


def _data(panels: list[dict[str, Any]], element_id: str) -> SafeString:
    """What ``json_script`` makes, in a third of its time.

    It looks each character up that it escapes or not, of a hundred thousand in the figures of a
    page.
    """
    text = json.dumps(panels, cls=DjangoJSONEncoder)
    for character, escaped in _ESCAPED:
        text = text.replace(character, escaped)
    return format_html(
        '<script id="{}" type="application/json">{}</script>', element_id, SafeString(text)
    )


def _panel(label: str, fig: go.Figure) -> dict[str, Any]:
    # Lists stay lists: to_json() would turn numbers into base64 blocks, which nobody can read.
    plain = fig.to_plotly_json()
    layout = dict(plain["layout"])
    meta = layout.pop("meta", None) or {}
    return {
        "label": label,
        "summary": meta.get("summary", ""),
        "data": plain["data"],
        "layout": layout,
    }
