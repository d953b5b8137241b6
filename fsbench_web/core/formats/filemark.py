"""The report of fsbench's own filemark (runner/agent/workloads/filemark.py)."""

import re

from fsbench_web.core.formats.json_text import JsonList, Number, documents
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, number, reads

_MARK = re.compile(r'^\s*"filemark"\s*:\s*"report"')
_START = re.compile(r"\{|$")


def _recognises(lines: list[str]) -> bool:
    """Whether a line says that this is filemark's report; its phases are no results alone."""
    return any(_MARK.match(line) for line in lines[:10])


@reads("filemark", "filemark", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Read transactions/s, with those of each phase as samples, and files created/s."""
    result = collector.result
    root = next(documents(lines, _START))
    threads = root.number("threads")
    load = load_text(threads=int(number(threads.text) or 0) or None if threads else None)
    if (files := root.number("files")) is not None:
        result.modes = (f"files {files.text}",)
    samples = root.get("samples")
    rates = (
        [number(sample.text) or 0.0 for sample in samples or () if isinstance(sample, Number)]
        if isinstance(samples, JsonList)
        else []
    )
    for test, key, unit in (
        ("filemark_transactions", "transactions_per_s", "ops/s"),
        ("filemark_creation", "creation_files_per_s", "files/s"),
    ):
        if (rate := root.number(key)) is not None:
            test_samples = rates if key == "transactions_per_s" else []
            collector.add(test, rate.text, unit, rate.line, load=load, samples=test_samples)
    if root.get("is_sure") is False:
        width = root.number("half_width_percent")
        collector.warn(
            width.line if width else None,
            "The phases were not sure enough when the last one had been run: the half-width of "
            f"their 95% interval is {width.text + '% of the mean' if width else 'not known'}.",
            is_note=True,
        )
    return collector.finish("This is filemark's report, and no phase was measured.")
