import json
import re

from django.template import Context, Template
from django.utils.html import json_script

from fsbench_web.studies.templatetags import figures
from tests.figures.charts import best_case

HOSTILE = '</script><script>alert(1)</script>"'


def rendered(source: str, **context: object) -> str:
    return Template("{% load figures units %}" + source).render(Context(context))


def data_of(html: str) -> list[dict]:
    match = re.search(r'type="application/json">(.*?)</script>', html, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_a_figure_is_data_with_a_text_alternative() -> None:
    fig = best_case(["ext3"], [1.5], "KB/s", "Write")
    html = rendered('{% figure fig "w" %}', fig=fig)
    assert data_of(html)[0]["data"][0]["x"] == [1.5]
    assert '<figcaption class="visually-hidden" id="w-caption">' in html
    assert "ext3 1.50 KB/s (best)" in html
    assert "<noscript>" in html
    # Its room is kept before any script has come.
    assert f'class="plot-canvas" style="--chart-px: {fig.layout.height}"' in html


def test_text_of_a_user_cannot_leave_the_data() -> None:
    fig = best_case([HOSTILE], [1.0], "KB/s", HOSTILE)
    html = rendered(
        '{% figure_choice figs "x" name %}', figs={HOSTILE: fig, "b": fig}, name=HOSTILE
    )
    assert "<script>alert" not in html
    assert html.count("</script>") == 1
    assert data_of(html)[0]["label"] == HOSTILE


def test_no_figure_is_no_html() -> None:
    assert rendered('{% figure fig "w" %}', fig=None) == ""
    assert rendered('{% figure_choice figs "w" "Category" %}', figs={}) == ""


def test_a_choice_starts_where_it_is_told() -> None:
    fig = best_case(["ext3"], [1.5], "KB/s", "Write")
    figs = {"Maximum": fig, "Overall": fig}
    html = rendered('{% figure_choice figs "w" "Category" "Overall" %}', figs=figs)
    assert '<option value="1" selected>Overall</option>' in html
    assert html.count("selected") == 1


def test_memory_and_disks_are_in_binary_units_and_files_of_benchmarks_as_they_say() -> None:
    html = rendered(
        "{{ n|bytes }}|{{ n|mebibytes }}|{{ n|kilobytes }}|{{ none|bytes }}|{{ none|mebibytes }}",
        n=1536,
        none=None,
    )
    assert html == "1.5 KiB|1.5 GiB|1.5 MB|–|–"


def test_filters_write_numbers_and_dashes() -> None:
    html = rendered(
        '{{ a|score:"KB/s" }}|{{ b|percent }}|{{ c|kilobytes }}|{{ d|duration }}|{{ e|words }}|'
        '{{ f|quantity:"s" }}|{{ g|kilobytes }}|{{ h|score }}',
        a=1234.5,
        b=None,
        c=4194304,
        d=125,
        e="random_write",
        f="29.40",
        g=1,
        h="abc",
    )
    assert html == "1,234.50|–|4 GB|2 min 5 s|Random write|29.4 s|1 KB|–"


def test_the_data_is_what_json_script_writes() -> None:
    panels = [{"label": "</script><!-- & é \u2028", "data": [1.5, None], "layout": {}}]
    assert figures._data(panels, 'a"b') == json_script(panels, 'a"b')
