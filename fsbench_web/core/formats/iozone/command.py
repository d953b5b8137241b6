"""IOzone's command line: its options, and which of them make another workload.

Source: iozone(1), and what 3.489 prints of itself for each option.
"""

# The options of iozone that take an argument; of the others several may stand in one word.
_WITH_ARGUMENT = "rstfFdluUSLHkVPjJibXYgnyqQ"
_MAY_DIFFER = frozenset(
    {
        # What is measured, which the numbers themselves say: tests, sizes, load, unit.
        *("i", "a", "A", "z", "s", "r", "n", "g", "y", "q", "t", "l", "u", "T", "O", "N"),
        # Files, hosts, and what is printed or written beside the results.
        *("f", "F", "b", "R", "v", "h", "C", "M", "+u", "+m", "+h", "+t", "+T"),
    }
)
_SAID = {
    "I": "O_DIRECT feature enabled",
    "e": "Include fsync in write timing",
    "c": "Include close in write timing",
    "o": "SYNC Mode.",
    "p": "Purge Mode On",
    "B": "Using mmap files",
    "D": "Using msync(MS_ASYNC) on mmap files",
    "G": "Using msync(MS_SYNC) on mmap files",
    "Z": "Enable mmap & file I/O mixing.",
    "K": "Disrupted read patterns selected.",
    "W": "Lock file when reading/writing.",
    "w": "Setting no_unlink",
    "x": "Stonewall disabled",
    "Q": "Offset/latency files enabled.",
    "H": "POSIX async I/O (with bcopy). Depth {}",
    "k": "POSIX Async I/O (no bcopy). Depth {}",
    "P": "Binding of processors beginning with {}",
    "+n": "No retest option selected",
    "+r": "Read & Write sync mode active.",
    "+D": ">>> O_DSYNC mode enabled. <<<",
    "+B": ">>> Sequential Mixed workload. <<<",
    "+A": "Madvise enabled: {}",
    "+w": "Dedup activated {} percent.",
}
"""What the head of IOzone's text says of an option."""
_SAID_OTHERWISE = frozenset({"m", "V", "+d", "+Z"})


def options_of(command: str) -> dict[str, str]:
    """The options of a command line by letter, "+x" of -+x, with their arguments or ""."""
    options: dict[str, str] = {}
    words = command.split()[1:]
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.startswith("-+"):
            is_value = index < len(words) and not words[index].startswith("-")
            options[word[1:3]] = word[3:] or (words[index] if is_value else "")
            continue
        for place, letter in enumerate(word[1:] if word.startswith("-") else "", start=1):
            if letter not in _WITH_ARGUMENT:
                options[letter] = ""
                continue
            rest = word[place + 1 :]
            if not rest and index < len(words):
                rest = words[index]
                index += 1
            options[letter] = rest
            break
    return options


def settings_of(command: str, *, has_head: bool) -> tuple[str, ...]:
    """The settings of a command in the words of IOzone's head; ``has_head``: only the others."""
    return tuple(
        sorted(
            # -U, -X and -Y take a path, which may differ.
            _SAID[name].format(value)
            if name in _SAID
            else f"-{name} {'' if '/' in value else value}".strip()[:200]
            for name, value in options_of(command).items()
            if name not in _MAY_DIFFER
            and not (has_head and (name in _SAID or name in _SAID_OTHERWISE))
        )
    )
