"""How problems of imports are listed: ``{% for group in problems|grouped %}``."""

from django import template

from fsbench_web.imports.problems import grouped

register = template.Library()
register.filter(grouped)
