"""The menu of a page: ``{% menu_entries as entries %}`` and ``{% account_menu as places %}``."""

from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser

from fsbench_web.accounts import navigation, rights

register = template.Library()


@register.simple_tag(takes_context=True)
def menu_entries(context: dict[str, Any]) -> list[navigation.Entry]:
    """The five entries of the bar, without those refused to the reader."""
    return navigation.entries(_path(context), _may(_user(context)))


@register.simple_tag(takes_context=True)
def account_menu(context: dict[str, Any]) -> tuple[navigation.MenuItem, ...]:
    """Guide and glossary; the account's own pages and the administration for whom they are."""
    user = _user(context)
    return navigation.account_places(_path(context), _may(user), is_signed_in=user.is_authenticated)


def _path(context: dict[str, Any]) -> str:
    """Error pages may be made without a request."""
    request = context.get("request")
    return request.path if request is not None else ""


def _user(context: dict[str, Any]) -> Any:
    return context.get("user") or AnonymousUser()


def _may(user: Any) -> set[str]:
    if not user.is_authenticated:
        return {navigation.RUN, navigation.IMPORT}
    actions = (navigation.RUN, navigation.IMPORT, navigation.ADMINISTER)
    return {action for action in actions if rights.may(user, rights.Action(action))}
