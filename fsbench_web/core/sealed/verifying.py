"""Makes sealed files, and checks them without a site: digests, signature, numbers. Pure."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fsbench_web.core.sealed import container, descriptions, envelope, parquet
from fsbench_web.core.sealed.numbers import TODAY, Recomputed
from fsbench_web.core.sealed.problems import ODD, Unsealed, UnsealedFile, unknown_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass
class Report:
    """What a check found. ``is_trusted``: None if no keys were given."""

    problems: list[Unsealed] = field(default_factory=list)
    key: str = ""
    is_trusted: bool | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    files: int = 0
    numbers: int = 0
    stated: int = 0
    """Numbers that no raw file gives: the installation states them, and signed that."""
    scores: int = 0
    unknown_rules: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong, and every number was checked."""
        return not self.problems


def seal(
    inputs: Mapping[str, Any], raw: Mapping[str, bytes], private: "Ed25519PrivateKey"
) -> bytes:
    """The sealed file of some inputs; ``raw`` by their paths in it."""
    subjects = {path: hashlib.sha256(data).hexdigest() for path, data in raw.items()}
    found = Recomputed(inputs, raw).tables()
    tables = {name: parquet.write(table) for name, table in found.items()}
    said = descriptions.written(inputs, subjects, tables)
    members = {
        descriptions.CRATE: said[descriptions.CRATE],
        envelope.NAME: envelope.sign(subjects, inputs, private),
        descriptions.PACKAGE: said[descriptions.PACKAGE],
        **{descriptions.path_of(name): data for name, data in tables.items()},
        **raw,
    }
    return container.write(members)


def verify(
    data: bytes, trusted: Collection[str] | None = None, revoked: Collection[str] = ()
) -> Report:
    """Everything that is wrong with a sealed file. ``trusted``: identifiers of keys."""
    report = Report()
    try:
        members = container.read(data)
        report.files = len(members)
        if envelope.NAME not in members:
            raise UnsealedFile(Unsealed("missing", envelope.NAME))
        subjects, report.inputs, report.key = envelope.verify(members[envelope.NAME])
        report.is_trusted = None if trusted is None else report.key in trusted
        if report.key in revoked:
            report.is_trusted = False
            report.problems.append(Unsealed("revoked", envelope.NAME, report.key[:16]))
        elif report.is_trusted is False:
            report.problems.append(Unsealed("untrusted", envelope.NAME, report.key[:16]))
        _check_digests(members, subjects)
        _check_contents(members, subjects, report)
    except UnsealedFile as error:
        report.problems += error.problems
    return report


def _check_digests(members: Mapping[str, bytes], subjects: Mapping[str, str]) -> None:
    """Raises UnsealedFile where a raw file is missing, extra or another one."""
    raw = {name: data for name, data in members.items() if name.startswith("raw/")}
    problems = unknown_files(raw, subjects)
    problems += [
        Unsealed("digest", name)
        for name, data in raw.items()
        if name in subjects and hashlib.sha256(data).hexdigest() != subjects[name]
    ]
    if problems:
        raise UnsealedFile(*problems)


def _check_contents(
    members: Mapping[str, bytes], subjects: Mapping[str, str], report: Report
) -> None:
    """Recompute every table and description, by the rules that the inputs name."""
    try:
        rules, names = report.inputs["rules"], list(report.inputs["tables"])
        if rules != TODAY:
            report.unknown_rules = ", ".join(
                f"{name} {rules.get(name)}, known {version}"
                for name, version in TODAY.items()
                if rules.get(name) != version
            )
            raise UnsealedFile(Unsealed("rules", envelope.NAME, report.unknown_rules or "more"))
        found = Recomputed(report.inputs, members)
        expected = found.tables()
        if names != list(expected):
            raise UnsealedFile(Unsealed("form", envelope.NAME))
        fixed = [descriptions.CRATE, envelope.NAME, descriptions.PACKAGE]
        wanted = [*fixed, *map(descriptions.path_of, expected), *subjects]
        if problems := unknown_files(members, wanted):
            raise UnsealedFile(*problems)
        if list(members) != wanted:
            raise UnsealedFile(Unsealed("not_as_written", ""))
        tables = {name: members[descriptions.path_of(name)] for name in expected}
        digests = descriptions.stated_digests(members[descriptions.PACKAGE])
        for name, table in expected.items():
            path = descriptions.path_of(name)
            if digests.get(path) != hashlib.sha256(tables[name]).hexdigest():
                report.problems.append(Unsealed("digest", path))
            report.problems += parquet.check(path, tables[name], table)
        said = descriptions.written(report.inputs, subjects, tables)
        report.problems += [
            Unsealed("description", name) for name, text in said.items() if members[name] != text
        ]
        report.numbers, report.scores = (
            expected["measurements"].num_rows,
            expected["scores"].num_rows,
        )
        report.stated = sum(
            len(part.get("stated", ())) for run in report.inputs["runs"] for part in run["numbers"]
        )
    except UnsealedFile:
        raise
    except ODD as error:
        raise UnsealedFile(Unsealed("form", envelope.NAME, type(error).__name__)) from None
