"""How a comparison treats emulated results: they show function, not speed. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.query import ONLY, OUT, WITH
from fsbench_web.core.comparison.rows import EMULATED, DeltaTable


def with_emulation_choice(
    spec: ComparisonSpec, tables: Iterable[DeltaTable], hidden: int
) -> ComparisonSpec:
    """``spec`` that fixes what it shows of emulated results; ``hidden``: series it leaves out."""
    if spec.emulated:
        return spec
    if hidden:
        return replace(spec, emulated=OUT)
    return replace(spec, emulated=ONLY) if state_of(tables) == ONLY else spec


def state_of(tables: Iterable[DeltaTable]) -> str:
    """What tables show of emulated results: "", ``only`` them, or them ``with`` others."""
    emulated = {EMULATED in row.flags for table in tables for row in table.rows}
    if emulated == {True}:
        return ONLY
    return WITH if True in emulated else ""


@dataclass(frozen=True)
class Notice:
    """How many series are left out, what the tables show, and queries of the other choices."""

    left_out: int
    state: str
    queries: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """The same in a sentence, for exports and reports; "" where there is nothing to say."""
        if self.left_out:
            is_one = self.left_out == 1
            return (
                f"{self.left_out} emulated series {'is' if is_one else 'are'} left out: emulated "
                "results are for function, not for speed."
            )
        return SENTENCES.get(self.state, "")


SENTENCES = {
    ONLY: "Everything shown was emulated: for function, not for speed.",
    WITH: (
        "Emulated results are shown next to real ones. They are for function, not for speed: a "
        "difference to them means nothing."
    ),
}


def notice(spec: ComparisonSpec, tables: Iterable[DeltaTable], hidden: int) -> Notice | None:
    """What to say of a comparison; None where nothing of it was emulated."""
    state = state_of(tables)
    if not hidden and not state:
        return None
    return Notice(
        hidden,
        state,
        {choice: replace(spec, emulated=choice).to_query() for choice in (OUT, WITH, ONLY)},
    )
