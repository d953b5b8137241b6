"""Delta tables as pages write them."""

from django.template import Context, Template

from fsbench_web.core.comparison.rows import DeltaTable


def html_of(context: Context, table: DeltaTable) -> str:
    """The table on a page that has ``context``."""
    page = Template("{% load compare %}{% delta_table table %}")
    with context.push(table=table):
        return page.render(context)
