"""What is wrong with a sealed file: codes, and their sentences. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

ODD = (LookupError, TypeError, AttributeError, ArithmeticError, ValueError, RecursionError)
"""What inputs and tables that fsbench did not write lead to."""


class Unsealed(NamedTuple):
    """One problem; ``file`` is the member that it is of, "" for the sealed file itself."""

    code: str
    file: str
    detail: str = ""

    def __str__(self) -> str:
        text = SENTENCES[self.code].format(detail=self.detail)
        return f"{self.file or 'The sealed file'}: {text}"


class UnsealedFile(ValueError):
    """A file that cannot be checked further."""

    def __init__(self, *problems: Unsealed) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems: tuple[Unsealed, ...] = problems


SENTENCES = {
    "too_large": "it is larger than {detail}.",
    "too_many_files": "it holds more than {detail} files.",
    "too_many_numbers": "it holds more than {detail} numbers.",
    "twice": "the file is there twice.",
    "name": "no file of a sealed zip has such a name.",
    "packed": "it is compressed, encrypted or not plain, as no sealed file is.",
    "not_zip": "it is not a zip file.",
    "cut_off": "the zip ends too early.",
    "not_as_written": "its bytes, or its entry in the zip, were changed.",
    "missing": "the file is missing.",
    "extra": "the file does not belong here.",
    "form": "it is not of the form of an attestation.",
    "signature": "the signature does not fit.",
    "digest": "its SHA-256 is not the stated one.",
    "unreadable": "today's readers do not read it.",
    "description": "it does not describe the files of this zip.",
    "table": "it is not the table that fsbench writes ({detail}).",
    "row": "{detail} does not follow from the raw output.",
    "untrusted": "key {detail} is not among the keys that you trust.",
    "revoked": "key {detail} was revoked.",
    "rules": "its rules are of another version ({detail}): its numbers were not checked.",
}


def unknown_files(found: Iterable[str], expected: Iterable[str]) -> list[Unsealed]:
    """Files that are missing, and files that do not belong there."""
    there, wanted = set(found), set(expected)
    missing = [Unsealed("missing", name) for name in sorted(wanted - there)]
    return missing + [Unsealed("extra", name) for name in sorted(there - wanted)]
