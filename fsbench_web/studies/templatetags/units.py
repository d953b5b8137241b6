"""How numbers and their units are written on pages."""

from django import template

register = template.Library()
