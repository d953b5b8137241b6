"""elbencho's command line, which its CSV, its JSON and --resfile hold."""

import re
import shlex

from fsbench_web.core.formats.result import load_text

# What does not change what is measured: where results go and how much of them.
_NO_SETTINGS = re.compile(
    r"--(?:resfile|csvfile|jsonfile|live\w*|label|nolive|lat\w*|cpu|allelapsed|svcelapsed|port|"
    r"hosts\w*|no0usecerr|log|resdir|brief|dryrun)(?:=.*)?"
)
_VALUE_OF = {"-t": "threads", "--threads": "threads", "--iodepth": "iodepth"}
# What columns of the CSV and the configuration of the JSON say: phases, sizes, numbers of files.
_SAID = re.compile(
    r"(?:-[wrdFDtnNbsi]|--(?:write|read|mkdirs|deldirs|delfiles|stat|rand|direct|dirs|files|block|"
    r"size|trunc|randalign|iterations))(?: .*)?"
)


def settings_of(command: str) -> tuple[tuple[str, ...], str]:
    """The options of a command with their values, without paths, and the load."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    settings: list[str] = []
    counts: dict[str, int | None] = {}
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if not word.startswith("-") or _NO_SETTINGS.fullmatch(word):
            continue
        option, _, value = word.partition("=")
        takes = "" if following.startswith(("-", "/")) else following
        if option in _VALUE_OF and re.fullmatch("[0-9]{1,9}", value or takes):
            counts[_VALUE_OF[option]] = int(value or takes)
        else:
            settings.append(f"{word} {takes}".strip()[:200])
    return tuple(dict.fromkeys(settings)), load_text(**counts)


def further_settings_of(command: str) -> tuple[str, ...]:
    """The same without what its CSV and JSON say beside it, and without the load."""
    settings, _ = settings_of(command)
    return tuple(setting for setting in settings if not _SAID.fullmatch(setting))
