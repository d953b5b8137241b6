"""Uploads that are not stored yet, with their corrections, kept for a day at most.

The database holds them whole, so an account may have some only, and not too large ones.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import Coalesce

from fsbench_web.core.comparison.imported import cells_of, stem_of
from fsbench_web.imports import guesses, targets
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.plan import Plan, PlannedFile, labels_of, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, refusal
from fsbench_web.imports.sources import FileDescription, SourceFile, Target
from fsbench_web.imports.storing import commit
from fsbench_web.imports.storing.commit import Stored
from fsbench_web.imports.targets import ImportResult
from fsbench_web.platform import clock
from fsbench_web.studies.models import Run

KEPT_FOR = timedelta(days=1)
DISCARDABLE = (ImportState.RECEIVED, ImportState.PREVIEWED, ImportState.FAILED)
_MOST_NAMED = 3
_OF_FILE = ("path", "size_bytes", "sha256", "problem", "mapping", "is_left_out")
"""What a file of an upload and its row have in common."""
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Preview:
    """A plan, and what storing it would give; None where it is refused, or much (``is_much``)."""

    plan: Plan
    stored: Stored | None
    problems: list[ImportProblem]
    is_much: bool = False

    @property
    def warnings(self) -> list[ImportProblem]:
        """What is left out, and what is to be known of repeats."""
        return [*self.plan.warnings, *(self.stored.remarks if self.stored else [])]


@dataclass(frozen=True)
class Correction:
    description: FileDescription
    is_left_out: bool


def store_upload(sources: Sequence[SourceFile], target: Target, user: User) -> Import:
    """Keep an upload with at least one readable file, so the rest can be corrected.

    Raises ImportRefused if none can, if the study refuses, or beyond the quota.
    """
    remove_expired()
    refuse_beyond(user, sources)  # nothing is read in vain; asked again where it counts
    plan = plan_files(sources, target)
    if plan.problems or not any(file.parsed or file.is_table for file in plan.files):
        raise ImportRefused(plan.all_problems)
    targets.require_study(target, user)
    with transaction.atomic():
        lock(user)
        refuse_beyond(user, sources)
        row = Import.objects.create(target=asdict(target), created_by=user)
        labels = labels_of([file.path for file in plan.files], target)
        repeats = _counted_repeats(plan, target)
        rows = [
            _file_row(row, file, target, label, repeats.get(file.path))
            for file, label in zip(plan.files, labels, strict=True)
        ]
        ImportFile.objects.bulk_create(
            [
                *rows,
                *(_left_out_row(row, file) for file in plan.passed_over),
                *(_left_out_row(row, PlannedFile(source)) for source in plan.left_out),
            ]
        )
    return row


def _counted_repeats(plan: Plan, target: Target) -> dict[str, int]:
    """Repeats by the numbers in file names, if these measure the same and the study is empty."""
    repeats = guesses.repeats_from_names([file.path for file in plan.files])
    if not repeats or Run.objects.filter(series__study__slug=target.study_slug()).exists():
        return {}
    cells: dict[str, set[frozenset[object]]] = defaultdict(set)
    for file in plan.files:
        if file.numbers is None or any(key[3] is not None for key in file.numbers.keys):
            repeats.pop(file.path, None)
        elif file.path in repeats:
            of_tests = cells_of(file.numbers.columns).items()
            measured = frozenset((test, sizes.tobytes()) for test, sizes in of_tests)
            cells[stem_of(file.path)].add(measured)
    return {path: n for path, n in repeats.items() if len(cells[stem_of(path)]) == 1}


def row_of(row: Import, source: SourceFile, description: FileDescription) -> ImportFile:
    """A file as an import keeps it, with what was said of it."""
    values = {name: getattr(source, name) for name in ("content_gzip", *_OF_FILE)}
    return ImportFile(import_of=row, given=asdict(description), **values)


def _file_row(
    row: Import, file: PlannedFile, target: Target, folder_label: str, repeat: int | None = None
) -> ImportFile:
    source = file.source
    description, reasons = _proposal(file, target, folder_label)
    if repeat is not None and description.repeat is None:
        description = replace(description, repeat=repeat)
        reasons.append(f"Repeat {repeat} is guessed from the file's name.")
    file_row = row_of(row, source, description)
    file_row.guesses = reasons
    return file_row


def _left_out_row(row: Import, file: PlannedFile) -> ImportFile:
    """A readme and the like: who wants it none the less can take it in."""
    file_row = _file_row(row, file, Target(""), "")
    file_row.is_left_out = True
    file_row.guesses = [f"{problem.message} It is left out." for problem in file.problems]
    return file_row


def _proposal(
    file: PlannedFile, target: Target, folder_label: str
) -> tuple[FileDescription, list[str]]:
    """What the preview proposes for a file, and what of it is a guess."""
    folder = guesses.from_folder(folder_label)
    configuration = folder.configuration or target.configuration
    filesystem = folder.filesystem or target.filesystem or guesses.filesystem_of(configuration)
    reasons: list[str] = []
    if file.parsed is not None and not (filesystem and configuration):
        # Of several runs in several places the first one's path says nothing of the others.
        command = "" if file.parsed.has_several_places else file.parsed.command
        guess = guesses.from_command(file.path, command)
        if guess.filesystem and filesystem in ("", guess.filesystem):
            if not filesystem:
                filesystem = guess.filesystem
            if not configuration:
                configuration = guess.configuration
            reasons = list(guess.reasons)
    kernel = target.kernel
    if file.parsed is not None and not kernel:
        kernel, sentences = guesses.from_printed(file.parsed.printed_kernels)
        reasons += sentences
    description = replace(
        file.source.description, filesystem=filesystem, configuration=configuration
    )
    return replace(description, hardware=target.hardware, kernel=kernel), reasons


def sources_of(row: Import) -> list[SourceFile]:
    """The files of an upload, with what was said of them."""
    return [
        SourceFile(
            content_gzip=bytes(file.content_gzip),
            description=FileDescription.from_json(file.given),
            **{name: getattr(file, name) for name in ("pk", *_OF_FILE)},
        )
        for file in row.files.all()
    ]


def preview_of(row: Import, user: User) -> Preview:
    """What a commit would store now, and everything that stands against it."""
    target = Target(**row.target)
    plan = plan_files(sources_of(row), target)
    if not plan.problems and plan.is_much:
        refused = [ImportProblem.from_json(problem) for problem in row.report.get("refused", [])]
        return Preview(plan, None, [*plan.all_problems, *refused], is_much=True)
    try:
        stored = commit.preview(plan, target, user) if not plan.problems else None
    except ImportRefused as error:
        return Preview(plan, None, error.problems)
    problems = [*plan.all_problems, *(stored.problems if stored else [])]
    return Preview(plan, stored, problems)


def columns_digest(row: Import) -> str:
    """Of what is said of the columns of its tables, which no form of a preview repeats."""
    mappings = row.files.filter(mapping__isnull=False).order_by("pk").values_list("pk", "mapping")
    return hashlib.sha256(json.dumps(list(mappings), sort_keys=True).encode()).hexdigest()


def refuse_other_columns(row: Import, columns: str | None) -> None:
    """Raise ImportRefused if the columns differ from a shown preview's; None: none was shown."""
    if columns is not None and columns != columns_digest(row):
        raise ImportRefused([refusal("other_columns")])


@transaction.atomic
def correct(
    row_id: int,
    target: Target,
    corrections: Mapping[int, Correction],
    user: User,
    columns: str | None = None,
) -> None:
    """Keep what the preview's form says, which was shown with ``columns``.

    Raises Import.DoesNotExist for an upload that is gone, and ImportRefused.
    """
    row = Import.objects.select_for_update().get(
        pk=row_id, created_by=user, state=ImportState.PREVIEWED
    )
    refuse_other_columns(row, columns)
    old_target = Target(**row.target)
    row.target = asdict(target)
    row.report.pop("refused", None)
    row.save(update_fields=["target", "report"])
    files = list(row.files.defer("content_gzip"))
    for file in files:
        if correction := corrections.get(file.pk):
            _describe(file, correction.description)
            file.is_left_out = correction.is_left_out
    _rename(files, old_target, target)
    ImportFile.objects.bulk_update(files, ["given", "guesses", "is_left_out"])


def _describe(file: ImportFile, description: FileDescription) -> None:
    if asdict(description) != file.given:
        file.given, file.guesses = asdict(description), []


def _rename(files: Sequence[ImportFile], old: Target, new: Target) -> None:
    """Call by today's labels those that folders named: whether they are blocks has changed."""
    if old.blocks == new.blocks:
        return
    taken = [file for file in files if not file.is_left_out]
    labels = [labels_of([file.path for file in taken], target) for target in (old, new)]
    for file, before, after in zip(taken, *labels, strict=True):
        description = FileDescription.from_json(file.given)
        if before != after and description.configuration == before:
            filesystem = guesses.filesystem_of(after) or description.filesystem
            _describe(file, replace(description, configuration=after, filesystem=filesystem))


def commit_stashed(row_id: int, user: User, columns: str | None = None) -> ImportResult | None:
    """Store the previewed files; None if that was done before, or is the importer's work.

    Raises Import.DoesNotExist when the upload is gone, and ImportRefused.
    """
    with transaction.atomic():
        row = Import.objects.select_for_update().get(pk=row_id, created_by=user)
        if row.state != ImportState.PREVIEWED:
            return None
        refuse_other_columns(row, columns)
        target = Target(**row.target)
        plan = plan_files(sources_of(row), target)
        if plan.is_much:
            plan.check()
            row.state, row.phase, row.progress, row.report = ImportState.ACCEPTED, "", 0, {}
            row.save(update_fields=["state", "phase", "progress", "report"])
            return None
        return commit.commit(row, plan, target, user)


@transaction.atomic
def discard(row_id: int, user: User) -> Target:
    """Delete an upload that was not stored, and return its target. Raises Import.DoesNotExist."""
    # Asked under the lock: what is stored meanwhile would lose whom and where it came from.
    row = Import.objects.select_for_update().get(pk=row_id, state__in=DISCARDABLE, created_by=user)
    row.delete()
    return Target(**row.target)


def remove_expired() -> None:
    """Delete uploads that nobody committed within a day."""
    expired = Import.objects.filter(state__in=DISCARDABLE, created_at__lt=clock.now() - KEPT_FOR)
    if not expired.exists():
        return
    with transaction.atomic():
        # What somebody stores at this moment is locked, and left to them.
        locked = expired.select_for_update(skip_locked=True).values_list("pk", flat=True)
        Import.objects.filter(pk__in=list(locked)).delete()


def with_paths(names: Sequence[str], paths: Any) -> list[str]:
    """The names of uploaded files with the folders that a browser sent.

    ``paths`` are labels, one for each file; what does not fit is ignored.
    """
    if not isinstance(paths, list) or len(paths) != len(names):
        return list(names)
    return [
        path if isinstance(path, str) and _received_name(path) == name else name
        for path, name in zip(paths, names, strict=True)
    ]


def _received_name(path: str) -> str:
    """The name that arrives of the file at this path: Django drops what cannot be printed."""
    last = path.replace("\\", "/").split("/")[-1]
    return "".join(filter(str.isprintable, last))


def pending(user: User) -> QuerySet[Any]:
    """What is kept for this person, oldest first, with file_count, size_bytes and first_path."""
    return (
        Import.objects.filter(created_by=user)
        .exclude(state=ImportState.DONE)
        .annotate(
            file_count=Count("files"),
            size_bytes=Coalesce(Sum("files__size_bytes"), 0),
            first_path=Min("files__path"),
        )
        .order_by("pk")
    )


def refuse_beyond(user: User, sources: Sequence[SourceFile]) -> None:
    """Raises ImportRefused where there is no room for these files."""
    rows = list(pending(user))
    kept_bytes = sum(row.size_bytes for row in rows)
    more_bytes = sum(source.size_bytes for source in sources)
    is_too_large = bool(rows) and kept_bytes + more_bytes > settings.MOST_PREVIEW_BYTES
    if len(rows) < settings.MOST_PREVIEWS and not is_too_large:
        return
    raise ImportRefused([ImportProblem(_too_much(rows, kept_bytes, more_bytes, is_too_large))])


def lock(user: User) -> None:
    """Until the transaction ends nobody else keeps an upload of this person."""
    # Rows that refer to the account go on being written: its key stays.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def _too_much(rows: list[Any], kept_bytes: int, more_bytes: int, is_too_large: bool) -> str:
    if is_too_large:
        rows = sorted(rows, key=lambda row: -row.size_bytes)
    named = ", ".join(
        f"import {row.pk} ({row.first_path}, {_size(row.size_bytes)})"
        for row in [row for row in rows if row.state in DISCARDABLE][:_MOST_NAMED]
    )
    first = next((row.pk for row in rows if row.state in DISCARDABLE), None)
    return (
        f"This upload of {_size(more_bytes)} was not kept: {len(rows)} uploads of yours, "
        f"{_size(kept_bytes)} together, are not imported yet, and of one account "
        f"{settings.MOST_PREVIEWS} and {_size(settings.MOST_PREVIEW_BYTES)} are kept. "
    ) + (
        f"Import or discard one first, such as {named}: each has a button for it on its page, "
        f"/imports/{first}/, and programs send DELETE /api/v1/imports/{first}. "
        "What nobody imports goes a day after it came."
        if first is not None
        else "They wait to be stored: try again when the importer is done."
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.0f} MiB" if size_bytes >= _MIB else f"{size_bytes:,} bytes"
