"""manage.py import_results PATH... --study S: files from disk, as the import page takes them."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from fsbench_web.imports.commit import import_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused


class Command(BaseCommand):
    help = "Import benchmark results: IOzone output or tables (CSV, TSV)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--study", required=True, help="slug or title; made when it is new")
        parser.add_argument("--filesystem", default="", help="such as ext4")
        parser.add_argument("--configuration", default="", help="a label such as ext4_noatime")
        parser.add_argument("--hardware", default="", help="name of a hardware profile")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = [(path.name, path.read_bytes()) for path in options["paths"]]
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        try:
            result = import_files(
                files,
                study=options["study"],
                filesystem=options["filesystem"],
                configuration=options["configuration"],
                hardware=options["hardware"],
                user=None,
            )
        except ImportRefused as error:
            lines = "\n".join(_line(problem) for problem in error.problems)
            raise CommandError(f"Nothing was imported.\n{lines}") from None
        runs = ", ".join(str(run) for run in result.runs)
        self.stdout.write(f"Import {result.id}: {len(result.runs)} runs stored ({runs}).")


def _line(problem: ImportProblem) -> str:
    place = ":".join(
        str(part) for part in (problem.file, problem.line, problem.column) if part is not None
    )
    return f"{place}: {problem.message}" if place else problem.message
