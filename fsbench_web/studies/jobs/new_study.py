"""Making a study, by itself or with its first job."""

from django.contrib.auth.models import User

from fsbench_web.accounts import audit
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.jobs.checking import TITLE_LENGTH, new_study_columns, study_exists
from fsbench_web.studies.models import Study


class StudyExists(ValueError):
    """Another study has the address that this title would get; the text says what to do."""


class BadTitle(ValueError):
    """A title that no study can have; the text says why."""


def checked_title(text: str) -> str:
    """The title in one line. Raises BadTitle."""
    if said := plain_text.problem(text.strip()):
        raise BadTitle(f"The study's title cannot be so. {said}")
    title = " ".join(text.split())
    if not slug_of(title):
        raise BadTitle("The study's title needs a letter or a digit for its address.")
    if len(title) > TITLE_LENGTH:
        raise BadTitle(f"The study's title is longer than {TITLE_LENGTH} characters.")
    return title


def create(title: str, user: User | None, *, summary: str = "") -> Study:
    """A new study, seen by whom the site says. The caller holds the transaction.

    Raises StudyExists, also where the other one is not theirs to see.
    """
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
