"""Drawings in pages."""

from django import template

from fsbench_web.compare.drawings.svg import svg

register = template.Library()
register.filter("svg", svg)
