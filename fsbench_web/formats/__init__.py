"""Output of benchmark tools -> ParsedResult. Pure: no Django. One file a format."""

from fsbench_web.formats.result import ParsedResult, ParsedValue, Problem, UnreadableFile

__all__ = ["ParsedResult", "ParsedValue", "Problem", "UnreadableFile"]
