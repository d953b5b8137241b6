"""What the times of a job leave of its runs, before they are submitted and while they wait."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from fsbench_web.studies.runs.windows import words


@dataclass(frozen=True)
class Window:
    """What begins between two times. ``left_out`` are places, ``labels`` their (block,
    configuration); ``unknown`` counts runs of unknown duration.
    """

    begins_at: datetime
    stop_before: datetime | None
    runs: int
    left_out: tuple[int, ...]
    unknown: int
    labels: tuple[tuple[int | None, str], ...]

    @property
    def words(self) -> str:
        """What the end leaves out, in a sentence or two; "" for a job without an end."""
        if self.stop_before is None:
            return ""
        begun = self.runs - len(self.left_out)
        text = f"By {words.time(self.stop_before)} "
        if self.left_out:
            text += f"about {begun} of {self.runs} runs; left out then: {self.left_out_words}."
        else:
            text += "the only run." if self.runs == 1 else f"all {self.runs} runs."
        if self.unknown:
            how_many = "of them" if self.unknown == self.runs else f"of {self.unknown} of them"
            text += (
                f" How long a run takes is not known {how_many}: such a run begins while there is "
                "time, and may end later."
            )
        return text

    @property
    def left_out_words(self) -> str:
        return words.left_out(self.labels)


@dataclass(frozen=True)
class Item:
    """A run: the name of its block, "" for none, and its duration in seconds; None: not known."""

    block: str
    duration_s: float | None


def left_out(items: Sequence[Item], room_s: float, begun: Collection[str] = ()) -> set[int]:
    """The places of runs in turn that do not begin within ``room_s``. ``begun`` blocks go on."""
    last = {item.block: place for place, item in enumerate(items) if item.block}
    entered = set(begun)
    out: set[int] = set()
    passed_s = 0.0
    for place, item in enumerate(items):
        if place in out:
            continue
        is_whole = item.block != "" and item.block not in entered
        end = last[item.block] if is_whole else place
        needed_s = sum(entry.duration_s or 0 for entry in items[place : end + 1])
        if passed_s + needed_s >= room_s:
            block_places = (
                index for index in range(place, end + 1) if items[index].block == item.block
            )
            out |= set(block_places) if is_whole else {place}
            continue
        entered.add(item.block)
        passed_s += item.duration_s or 0
    return out
