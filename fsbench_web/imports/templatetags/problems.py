"""How problems of imports are listed: ``{% for group in problems|grouped %}``."""

from collections.abc import Iterable

from django import template

from fsbench_web.imports.problems import ImportProblem, ProblemGroup, grouped

register = template.Library()


@register.filter(name="grouped")
def grouped_problems(problems: Iterable[ImportProblem]) -> list[ProblemGroup]:
    return grouped(problems)
