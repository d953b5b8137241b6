"""What the times of a job leave of its runs, before they are submitted and while they wait."""

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
