"""The menu of a page: ``{% menu_entries as entries %}`` and ``{% account_menu as places %}``."""

from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser

from fsbench_web.accounts import navigation, rights

register = template.Library()


@register.simple_tag(takes_context=True)
def menu_entries(context: dict[str, Any]) -> list[navigation.Entry]:
    """The five entries of the bar, without those refused to the reader."""
    return navigation.entries(_path(context), _may(context))


@register.simple_tag(takes_context=True)
def account_menu(context: dict[str, Any]) -> tuple[navigation.MenuItem, ...]:
    """Guide and glossary; the account's own pages and the administration for whom they are."""
    is_signed_in = _user(context).is_authenticated
    return navigation.account_places(_path(context), _may(context), is_signed_in=is_signed_in)


def _path(context: dict[str, Any]) -> str:
    """Error pages may be made without a request."""
    request = context.get("request")
    return request.path if request is not None else ""


def _user(context: dict[str, Any]) -> Any:
    return context.get("user") or AnonymousUser()


def _may(context: dict[str, Any]) -> set[str]:
    user = _user(context)
    actions = (navigation.RUN, navigation.IMPORT, navigation.ADMINISTER)
    if not user.is_authenticated:
        return {navigation.RUN, navigation.IMPORT}
    return {action for action in actions if rights.decide(user, rights.Action(action)).is_allowed}
