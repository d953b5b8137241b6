"""Make a study, alone or with its first job."""

from django.conf import settings
from django.contrib.auth.models import User

from fsbench_web.accounts import audit
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.models import Study

TITLE_LENGTH = Study._meta.get_field("title").max_length or 200


class StudyExists(ValueError):
    """Another study has the address that this title would get; the text says what to do."""


class InvalidTitle(ValueError):
    """A title that no study can have; the text says why."""


def title_problem(title: str, typed: str = "") -> str:
    """Why no study can have this title, as a sentence; "" where one can. ``typed`` is untrimmed."""
    if problem := plain_text.problem(typed or title):
        return f"The study's title cannot be so. {problem}"
    if len(title) > TITLE_LENGTH:
        return f"The study's title is longer than {TITLE_LENGTH} characters."
    if not slug_of(title):
        return "The study's title needs a letter or a digit for its address."
    return ""


def checked_title(text: str) -> str:
    """The title in one line. Raises InvalidTitle."""
    title = " ".join(text.split())
    if problem := title_problem(title, text.strip()):
        raise InvalidTitle(problem)
    return title


def new_study_columns() -> dict[str, str]:
    """Who sees a new study, as the site has it."""
    return {"visibility": settings.NEW_STUDY_VISIBILITY}


def study_exists(slug: str) -> str:
    """What to say where this address is taken."""
    return (
        f'A study with the address "{slug}" exists already: choose it from the list, or give '
        "another title."
    )


def create_study(title: str, user: User | None, *, summary: str = "") -> Study:
    """Make a study in the caller's transaction. Raises StudyExists, also for a hidden one."""
    study, is_new = Study._base_manager.get_or_create(
        slug=slug_of(title),
        defaults={
            "title": title,
            "summary": summary,
            "created_by": user,
            **new_study_columns(),
        },
    )
    if not is_new:
        raise StudyExists(study_exists(study.slug))
    audit.note(user, "study made", f"study {study.slug}", visibility=study.visibility)
    return study
