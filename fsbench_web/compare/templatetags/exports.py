"""Where one table of a page can be had as a file."""

from functools import lru_cache
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import get_script_prefix, reverse

from fsbench_web.compare.models import Permalink
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.rows import DeltaTable

register = template.Library()


@register.simple_tag(takes_context=True)
def export_address(context: Context, table: DeltaTable) -> str:
    """The export page of this one table, of the page's ``permalink`` or ``spec``; "" of neither."""
    link, spec = context.get("permalink"), context.get("spec")
    if context.get("is_embedded"):
        return ""  # A page in a frame leads nowhere but to the whole of it.
    if isinstance(link, Permalink):
        query = urlencode({"test": table.test, "category": table.category})
        return f"{reverse('compare:permalink_export', args=[link.key])}?{query}"
    if isinstance(spec, ComparisonSpec):
        page, before = _export_page(spec, get_script_prefix())
        part = urlencode({"part_test": table.test, "part_category": table.category})
        return f"{page}?{before}{part}"
    return ""


@lru_cache(maxsize=64)
def _export_page(spec: ComparisonSpec, prefix: str) -> tuple[str, str]:
    """The export page below ``prefix``, and its query before the part that is one table.

    A part, so that the file says of it what the page says. A page has fifty tables of one ``spec``.
    """
    query = spec.whole.to_query()
    return reverse("compare:export"), f"{query}&" if query else ""
