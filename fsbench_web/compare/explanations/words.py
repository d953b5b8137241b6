"""What an explanation says in sentences. Pure.

They speak of association: *it wrote 2.1 times the bytes*, never *because*.
"""

from collections.abc import Sequence
from math import log, log1p

from fsbench_web.core import numbers
from fsbench_web.core.explanation import ALIKE, ALIKE_PERCENT, UNSURE, Difference, Explanation

MOST_SAID = 3
MOST_DIGITS = 9
CAUTION = (
    "These are associations: what differs together with the speed. A cause may be among them, or "
    "be something that was not counted; only a run in which nothing else is changed can tell."
)
_PHRASES = {
    "write_amplification": "wrote {} the bytes to the device for each byte of its work",
    "read_amplification": "read {} the bytes from the device for each byte of its work",
    "flushes_per_1000_operations": "flushed {} as often",
    "mean_write_request": "had write requests {} as large",
    "mean_read_request": "had read requests {} as large",
    "cpu_seconds_per_gib": "took {} the CPU seconds of the machine for each GiB",
    "process_cpu_seconds_per_gib": "took {} the CPU seconds of its own processes for each GiB",
    "operations_per_cpu_second": "did {} the operations for each CPU second",
    "space_amplification": "took {} the space for its files",
    "energy_per_gib": "took {} the energy for each GiB",
    "device_energy_per_gib": "took {} the energy of the device for each GiB",
    "io_pressure": "had {} the I/O pressure",
    "cpu_pressure": "had {} the CPU pressure",
    "memory_pressure": "had {} the memory pressure",
    "device_utilisation": "kept the device busy {} as long",
    "device_queue_depth": "had {} the requests in the device",
    "wait_outside_device": "waited {} as long for I/O while the device had nothing to do",
    "device_read_time": "had reads of the device that took {} as long",
    "device_write_time": "had writes of the device that took {} as long",
    "device_flush_time": "had flushes that took {} as long",
    "merged_share": "had {} the share of merged requests",
    "switches_per_1000_operations": "switched contexts {} as often",
}
# Where one of the two has next to nothing, a ratio says little: what it had is said, with its unit.
_AMOUNTS = {
    "write_amplification": ("wrote {} to the device for each byte of its work", " bytes"),
    "read_amplification": ("read {} from the device for each byte of its work", " bytes"),
    "flushes_per_1000_operations": ("flushed {} for 1,000 operations", " times"),
    "mean_write_request": ("had write requests of {} on average", " KiB"),
    "mean_read_request": ("had read requests of {} on average", " KiB"),
    "cpu_seconds_per_gib": ("took {} of the machine for each GiB", " CPU seconds"),
    "process_cpu_seconds_per_gib": ("took {} of its processes for each GiB", " CPU seconds"),
    "operations_per_cpu_second": ("did {} for each CPU second", " operations"),
    "space_amplification": ("took {} for each byte in its files", " bytes"),
    "energy_per_gib": ("took {} for each GiB", " J"),
    "device_energy_per_gib": ("took {} of the device for each GiB", " J"),
    "io_pressure": ("waited for I/O {} of the time", "%"),
    "cpu_pressure": ("waited for a processor {} of the time", "%"),
    "memory_pressure": ("waited for memory {} of the time", "%"),
    "device_utilisation": ("kept the device busy {} of the time", "%"),
    "device_queue_depth": ("had {} in the device on average", " requests"),
    "wait_outside_device": ("waited for I/O with an idle device {} of the time", "%"),
    "device_read_time": ("had reads of the device that took {}", " ms"),
    "device_write_time": ("had writes of the device that took {}", " ms"),
    "device_flush_time": ("had flushes that took {}", " ms"),
    "merged_share": ("had {} of its requests merged", "%"),
    "switches_per_1000_operations": ("switched contexts {} for 1,000 operations", " times"),
}


def times(ratio: float, least_digits: int = 0) -> str:
    """A ratio in words, without digits that few runs do not give: "2.1 times", "1.15 times"."""
    if ratio < 0.1:
        return f"{ratio:.2g} times"
    digits = 0 if ratio >= 9.95 else 1 if ratio >= 1.95 else 2
    return f"{ratio:,.{max(digits, least_digits)}f} times"


def _times_apart(ratio: float) -> str:
    """The same where it is said to differ: with as many digits as it takes to do so."""
    digits = 2
    while ratio != 1 and abs(ratio - 1) * 10**digits < 0.5 and digits < MOST_DIGITS:
        digits += 1
    return times(ratio, digits if digits > 2 else 0)


def phrase(difference: Difference) -> str:
    """What the contender did, against the other one."""
    cost = difference.cost
    if difference.is_next_to_nothing and cost.test in _AMOUNTS:
        text, unit = _AMOUNTS[cost.test]
        count, other = (_with_unit(number, unit) for number in (difference.value, difference.other))
        return f"{text.format(count)} (the other {'never' if other == '0 times' else other})"
    value = _PHRASES.get(cost.test)
    ratio = _times_apart(difference.ratio)
    return value.format(ratio) if value else f"had {ratio} the {cost.label}"


def _with_unit(value: float, unit: str) -> str:
    text = amount(value, "")
    return text + (unit[:-1] if text == "1" and unit.endswith("s") and unit != " ms" else unit)


def amount(value: float, unit: str) -> str:
    """A value with its unit, without digits that a cost does not have."""
    return numbers.with_unit(float(f"{max(value, 0.0):.3g}"), unit)


def sentence(
    slower: str, faster: str, behind_percent: float | None, explanation: Explanation
) -> str:
    """Who is slower by how much, what differs most for certain, and what is alike."""
    if behind_percent is None:
        head = f"{slower} against {faster}"
    elif behind_percent == 0:
        head = f"{slower} is as fast as {faster}"
    else:
        size = f"{abs(behind_percent):.3g}"
        if size == "100" or "e" in size:
            size = numbers.percent_size(abs(behind_percent), 0)
        head = f"{slower} is {size}% slower than {faster}"
    if not explanation.work and not explanation.waits:
        if all(explanation.runs):
            return f"{head}: nothing that it cost is known of both."
        which = "one of the two" if any(explanation.runs) else "either"
        return f"{head}: nothing was sampled of {which}."
    differing = explanation.differing[:MOST_SAID]
    alike = [
        _in_sentence(difference.cost.label)
        for difference in explanation.work
        if difference.status == ALIKE
    ][:MOST_SAID]
    if not explanation.tested:
        if not explanation.work:
            return f"{head}: nothing that it cost is known of both."
        largest, of = explanation.work[0], "each" if max(explanation.runs) == 1 else "one of them"
        if largest.ratio == 1:
            return f"{head}: nothing that was counted differs, with one run of {of}."
        return f"{head}: it {phrase(largest)}; with one run of {of} nobody knows what is chance."
    if differing:
        text = f"{head}: it {_joined([phrase(difference) for difference in differing])}"
    else:
        text = f"{head}: in nothing that was counted do they differ by more than chance"
        unsure = [difference for difference in explanation.work if difference.status == UNSURE]
        if unsure:
            text = f"{text}; most apart, and it may be chance: it {phrase(unsure[0])}"
    if alike:
        same = f"alike: {alike[0]}" if len(alike) == 1 else f"{_joined(alike)} are alike"
        text = f"{text}; {same}"
    text = f"{text}."
    fitting = setup_sentence(explanation)
    return f"{text} {fitting}" if fitting else text


def setup_sentence(explanation: Explanation) -> str:
    """What of the set-up differs and is known to change what was measured to differ; else "".

    A difference that is sure and smaller than what is alike by two tests goes without it.
    """
    by_label: dict[str, list[str]] = {}
    for difference in explanation.differing:
        for label in (
            difference.fits if abs(log(difference.ratio)) > log1p(ALIKE_PERCENT / 100) else ()
        ):
            by_label.setdefault(label, []).append(f"“{difference.cost.label}”")
    parts = []
    for setup in explanation.setups:
        if costs := by_label.get(setup.label, [])[:MOST_SAID]:
            change = f"{setup.label}, {setup.value} against {setup.other}"
            parts.append(f"{change}, which is known to change {_joined(costs)}")
    return f"Set up differently: {'; '.join(parts)}." if parts else ""


def _in_sentence(label: str) -> str:
    """A label inside of a sentence; "CPU seconds" and "I/O pressure" keep their first letter."""
    return label if label[1:2] in "/" or label[:2].isupper() else label[:1].lower() + label[1:]


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else list(parts))
