"""Escaping is Django's, only sooner done."""

import pytest
from django.utils.html import escape
from django.utils.safestring import SafeString

from fsbench_web.compare.templatetags.writing import SHORT, escaped


@pytest.mark.parametrize(
    "text",
    ["", "ext4", "<b>\"'&", "&amp;", "é – ×", "<" * (SHORT + 1), 12, 0.5, None],
)
def test_it_escapes_as_django_does(text: object) -> None:
    assert escaped(text) == escape(text)
    assert escaped(text) == escape(text)  # from what was kept as well


def test_a_text_that_is_marked_as_safe_is_escaped_too() -> None:
    assert escaped(SafeString("<b>")) == "&lt;b&gt;"
    assert escaped("<b>") == "&lt;b&gt;"
