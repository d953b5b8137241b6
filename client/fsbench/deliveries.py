"""``fsbench check --junit --github --gitlab --markdown``: its result as files for other programs.

Nothing is sent. The files are what the documented calls of GitHub and GitLab take as their body.
"""

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FELL, FINE

FILES = ("junit", "github", "gitlab", "markdown")
MOST_BYTES, LONGEST_NAME = 60_000, 120
"""Of a comment: GitHub takes 65,535 characters, GitLab a million."""
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
# What XML 1.0 cannot hold, even escaped (section 2.2).
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What Markdown, or a mention of a person or an issue, may begin with: all but these.
_MARKUP = re.compile(r"(?<=w)\.|[\x21-\x7e](?<![A-Za-z0-9.,/%()+=-])")
_STATE = {"fell": 0, "not known": 1}


@dataclass(frozen=True)
class Finding:
    """What became of one test of one line, or of one contender."""

    subject: str
    test: str
    result: str
    change_percent: float | None
    since: str
    q_value: float | None
    reason: str

    @property
    def sentence(self) -> str:
        """In one line: "fell, −9.4%, since 6.3.0, q 0.001 (reason)"."""
        parts = [self.result, terminal.percent(self.change_percent)]
        parts += [f"since {self.since}"] if self.since else []
        parts += [f"q {terminal.probability(self.q_value)}"] if self.q_value is not None else []
        return ", ".join(parts) + (f" ({self.reason})" if self.reason else "")


def of_lines(rows: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """The findings of ``check --along``."""
    for row in rows:
        change = row["change"] or {}
        yield Finding(
            ", ".join(str(row[name]) for name in ("configuration", "workload", "lun") if row[name]),
            f"{row['test']}, {row['category']}",
            row["result"],
            change.get("change_percent"),
            str(change.get("to") or ""),
            row["q_value"],
            row["reason"],
        )


def of_comparison(rows: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """The findings of ``check --baseline``."""
    for row in rows:
        verdict = row["change_verdict"] or {}
        yield Finding(
            str(row["contender"]),
            f"{row['test']}, {row['category']}",
            row["result"],
            row["change_percent"],
            "",
            verdict.get("q_value"),
            ", ".join(verdict.get("reasons") or ()),
        )


def report(
    options: SimpleNamespace,
    client: Client | None,
    code: int,
    findings: Iterable[Finding],
    problems: list[str],
    answer: dict[str, Any],
    table: str,
    remarks: Iterable[str] = (),
    conclusion: Iterable[str] = (),
) -> int:
    """Write the files that are asked for, and print ``answer`` as JSON, or its table.

    Returns the exit code. ``client``: None without a site.
    """
    is_asked = any(getattr(options, name, "") for name in FILES)
    deliver(options, client.site.url if client and is_asked else "", code, findings, problems)
    with terminal.readers_may_leave():
        if options.json:
            terminal.print_json({"exit_code": code, **answer})
        else:
            if table:
                terminal.print_line(table)
            terminal.complain(*problems, *remarks)
            if lines := list(conclusion):
                terminal.print_line(*lines)
    return code


def deliver(
    options: SimpleNamespace,
    url: str,
    code: int,
    findings: Iterable[Finding],
    problems: Iterable[str],
) -> None:
    """Write the files that the options ask for. Raises ValueError, OSError."""
    wanted = {name: getattr(options, name, "") for name in FILES}
    if not any(wanted.values()):
        return
    found = sorted(findings, key=lambda finding: _STATE.get(finding.result, 2))
    told = [terminal.clean(problem) for problem in problems]
    texts = {
        "junit": lambda: junit(found, told),
        "github": lambda: _json(github(code, url, found, told)),
        "gitlab": lambda: _json(gitlab(code, url, found)),
        "markdown": lambda: markdown(code, found, told),
    }
    for name, path in wanted.items():
        if path:
            Path(path).write_text(texts[name](), "utf-8")


def title(code: int, findings: list[Finding]) -> str:
    """The result in one sentence."""
    counts, total = Counter(finding.result for finding in findings), len(findings)
    if code == FELL:
        return f"{counts['fell']} of {total} got slower"
    if code == FINE:
        return f"Nothing of {total} got slower"
    return f"No verdict: {counts['not known']} of {total} cannot be judged"


def junit(findings: list[Finding], problems: list[str]) -> str:
    """A test case for each finding: a failure where it fell, an error where nobody can say."""
    results = Counter(finding.result for finding in findings)
    counts = {
        "tests": str(len(findings) + len(problems)),
        "failures": str(results["fell"]),
        "errors": str(results["not known"] + len(problems)),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "fsbench check", **counts})
    for finding in findings:
        case = _case(suite, finding.subject, finding.test)
        if finding.result in _STATE:
            kind = "failure" if finding.result == "fell" else "error"
            _cause(case, kind, finding.result, finding.sentence)
    for number, problem in enumerate(problems, 1):
        _cause(_case(suite, "fsbench check", f"problem {number}"), "error", "problem", problem)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, subject: str, name: str) -> ElementTree.Element:
    values = {"classname": _xml(subject), "name": _xml(name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", values)


def _cause(case: ElementTree.Element, kind: str, type_: str, text: str) -> None:
    values = {"message": _xml(text), "type": type_}
    ElementTree.SubElement(case, kind, values).text = _xml(text)


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def github(code: int, url: str, findings: list[Finding], problems: list[str]) -> dict[str, Any]:
    """The body of ``POST /repos/{owner}/{repo}/check-runs``. The commit is GITHUB_SHA.

    Neither site takes an empty address.
    """
    commit = os.environ.get("GITHUB_SHA", "")
    if not _COMMIT.fullmatch(commit):
        raise ValueError("--github needs the commit: set GITHUB_SHA to its 40 hexadecimal digits.")
    conclusion = {FINE: "success", FELL: "failure"}.get(code, "action_required")
    text = markdown(code, findings, problems)
    return {
        "name": "fsbench",
        "head_sha": commit,
        "status": "completed",
        "conclusion": conclusion,
        **({"details_url": url} if url else {}),
        "output": {"title": title(code, findings), "summary": text},
    }


def gitlab(code: int, url: str, findings: list[Finding]) -> dict[str, Any]:
    """The body of ``POST /projects/:id/statuses/:sha``; the Markdown is that of a note."""
    return {
        "state": "success" if code == FINE else "failed",
        "name": "fsbench",
        "description": title(code, findings),
        **({"target_url": url} if url else {}),
    }


def markdown(code: int, findings: list[Finding], problems: list[str]) -> str:
    """A comment: the sentence, a table with what fell first, and the problems."""
    shown, room = [f"**fsbench: {title(code, findings)}.**", ""], MOST_BYTES
    # One by one: of thousands only the first have room.
    for place, line in enumerate(_lines(findings, problems)):
        room -= len(line.encode()) + 1
        if room < 0:
            left_out = len(findings) + len(problems) + 3 - place
            shown += ["", f"{left_out} more lines are left out."]
            break
        shown.append(line)
    return "\n".join(shown).rstrip() + "\n"


def _lines(findings: list[Finding], problems: list[str]) -> Iterator[str]:
    yield "| result | of | test | change | since | q | reason |" if findings else ""
    yield "| --- " * 7 + "|" if findings else ""
    for finding in findings:
        cells = [
            finding.result,
            _code(finding.subject),
            _code(finding.test),
            terminal.percent(finding.change_percent),
            _code(finding.since),
            terminal.probability(finding.q_value),
            _code(finding.reason),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    for problem in problems:
        yield f"- {_code(problem)}"


def _code(text: str) -> str:
    """Text of others as it is: no markup, no mention, no link."""
    if not text:
        return ""
    shown = terminal.shortened(terminal.clean(text[: 4 * LONGEST_NAME]), LONGEST_NAME)
    return f"<code>{_MARKUP.sub(lambda match: f'&#{ord(match[0])};', shown)}</code>"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
