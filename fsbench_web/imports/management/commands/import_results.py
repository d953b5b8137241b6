"""manage.py import_results PATH... --study S: files, folders and archives from disk."""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError

from fsbench_web.core.comparison.imported import natural_order
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.sources import (
    FOLDERS,
    FileDescription,
    SourceFile,
    Target,
    leave_out,
    read_repeat,
    unpack,
)
from fsbench_web.imports.storing.commit import import_sources
from fsbench_web.platform.commands import SiteCommand

_TEXTS = {
    "filesystem": "such as ext4",
    "configuration": "a label such as ext4_noatime",
    "hardware": "name of a hardware profile",
    "kernel": "its release, as uname -r prints it",
    "source": "who measured it, or where it is from",
    "licence": "what others may do with it",
    "repeat": "which repeat the files are",
}
_CHOICES = {
    "blocks": (
        (FOLDERS,),
        "folders: files in folders of the same name are one round of runs",
    ),
    "kilobyte": (
        ("1000", "1024"),
        "bytes of a KB where neither unit nor tool says it; MB and GB likewise",
    ),
    "repeats-differ": (
        ("yes",),
        "yes: these are repeats although they differ by more than a factor of 3",
    ),
}


class Command(SiteCommand):
    help = "Import benchmark results: files, folders and archives, as the import page takes them"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            nargs="+",
            type=Path,
            metavar="PATH",
            help="a file, an archive, or a folder with a sub-folder for each configuration",
        )
        parser.add_argument("--study", required=True, help="slug or title; made when it is new")
        for name, text in _TEXTS.items():
            parser.add_argument(f"--{name}", default="", help=text)
        for name, (choices, text) in _CHOICES.items():
            metavar = f"{{{','.join(choices)}}}"
            parser.add_argument(
                f"--{name}", default="", choices=("", *choices), metavar=metavar, help=text
            )
        parser.add_argument(
            "--ignore-columns", metavar="NAMES", help="of tables, by commas: not to be read"
        )
        parser.add_argument(
            "--leave-out", default="", metavar="NAMES", help="of files, by commas, with * and ?"
        )
        parser.add_argument(
            "--strict", action="store_true", help="store nothing where anything is left out"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        names = [name for name in Target.__dataclass_fields__ if name != "strict"]
        values = {name: options[name].strip() for name in names}
        target = Target(**values, strict=options["strict"])
        columns = options["ignore_columns"]
        ignored = None if columns is None else tuple(name.strip() for name in columns.split(","))
        try:
            description = FileDescription(
                repeat=read_repeat(options["repeat"].strip()), ignored=ignored
            )
        except ValueError as error:
            raise CommandError(str(error)) from None
        try:
            sources = [
                replace(source, description=description) for source in _sources(options["paths"])
            ]
            named = [name.strip() for name in options["leave_out"].split(",")]
            sources = leave_out(sources, named)
            result = import_sources(sources, target, user=None)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        except ImportRefused as error:
            lines = "\n".join(_line(problem) for problem in error.problems)
            raise CommandError(f"Nothing was imported.\n{lines}") from None
        for row in result.warnings:
            problem = ImportProblem(row["message"], row["file"], row["line"], row["column"])
            more = f" ({row['count']:,} times)" if row["count"] > 1 else ""
            self.stderr.write(_line(problem) + more)
        runs = ", ".join(str(run) for run in result.runs[:20])
        more = f" and {len(result.runs) - 20} more" if len(result.runs) > 20 else ""
        self.stdout.write(f"Import {result.id}: {len(result.runs)} runs stored ({runs}{more}).")


def _sources(paths: list[Path]) -> list[SourceFile]:
    """All files; those of a folder under its name. Raises OSError and ImportRefused."""
    with ExitStack() as opened:
        uploads: list[tuple[str, BinaryIO]] = []
        for path in paths:
            if not path.is_dir():
                uploads.append((path.name, opened.enter_context(path.open("rb"))))
                continue
            root = path.resolve()
            files = [file for file in root.rglob("*") if file.is_file()]
            for file in sorted(files, key=lambda file: natural_order(str(file))):
                label = f"{root.name}/{file.relative_to(root).as_posix()}"
                uploads.append((label, opened.enter_context(file.open("rb"))))
        return unpack(uploads)


def _line(problem: ImportProblem) -> str:
    place = ":".join(
        str(part) for part in (problem.file, problem.line, problem.column) if part is not None
    )
    return f"{place}: {problem.message}" if place else problem.message
