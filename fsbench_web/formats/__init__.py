"""Output of benchmark tools -> ParsedResult. Pure: no Django. One file a format."""

from fsbench_web.formats import iozone, table
from fsbench_web.formats.result import ParsedResult, ParsedValue, Problem, UnreadableFile
from fsbench_web.formats.text import lines_of, shown

__all__ = ["ParsedResult", "ParsedValue", "Problem", "UnreadableFile", "parse"]


def parse(name: str, data: bytes) -> ParsedResult:
    """What a file holds, whatever it is called: ``name`` is for messages only.

    Raises UnreadableFile with everything that is wrong.
    """
    lines = lines_of(data)
    for reader in (iozone, table):
        if reader.recognises(lines):
            return reader.parse(lines)
    first = next(line for line in lines if line.strip())
    raise UnreadableFile(
        [
            Problem(
                1,
                None,
                f"{name} starts with {shown(first)} and is neither the text output of IOzone nor "
                "a table. A table has a header row with the columns test, record_size_kb, "
                "file_size_kb, value and unit, separated by commas, semicolons or tabs.",
            )
        ]
    )
