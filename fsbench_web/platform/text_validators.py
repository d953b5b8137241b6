"""``plain_text`` for the fields of forms."""

from django.core.exceptions import ValidationError

from fsbench_web.platform import plain_text


def one_line(text: str) -> None:
    """Raises ValidationError: a name or title has no line break and no sign that is not seen."""
    if problem := plain_text.problem(text):
        raise ValidationError(problem, code="unseen")


def lines(text: str) -> None:
    """Raises ValidationError: a note may have line breaks and tabs."""
    if problem := plain_text.problem(text, is_multiline=True):
        raise ValidationError(problem, code="unseen")
