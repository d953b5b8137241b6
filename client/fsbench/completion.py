"""``fsbench completion``: what bash, zsh and fish need to complete this command.

The text is made from the arguments themselves and asks no site: what it knows are words, not names.
"""

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from fsbench.exits import FINE

SHELLS = ("bash", "zsh", "fish")
HOW = """to have it in every shell from now on:
  bash  fsbench completion bash > ~/.local/share/bash-completion/completions/fsbench
  zsh   fsbench completion zsh > ~/.zfunc/_fsbench    (a folder of fpath, before compinit)
  fish  fsbench completion fish > ~/.config/fish/completions/fsbench.fish"""
_OF_FILES = ("paths", "document", "output", "ca_file")


@dataclass
class Words:
    """What may follow a command: words, options with what each means, and their values.

    ``values`` is None for an option that takes something of which nothing is known.
    """

    path: tuple[str, ...]
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str] | None] = field(default_factory=dict)
    files_of: set[str] = field(default_factory=set)
    takes_files: bool = False


def show(parser: argparse.ArgumentParser, shell: str) -> int:
    """Print the text for this shell."""
    print(text(parser, shell), end="")
    return FINE


def text(parser: argparse.ArgumentParser, shell: str) -> str:
    """The whole text, to be read by the shell once."""
    commands = list(_commands(parser, ()))
    if shell == "fish":
        return "\n".join([*_fish(commands), ""])
    return "\n".join([*(_bash if shell == "bash" else _zsh)(commands), ""])


def _commands(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Words]:
    """Every command and what is below it, the outer ones first."""
    found = Words(path)
    below: list[Words] = []
    # argparse tells nobody what a parser takes; in 3.9 to 3.14 these names are the same.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            values = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001
            for name, made in action.choices.items():
                if name not in values:  # a former name of another one
                    continue
                found.words[name] = values[name]
                below += _commands(made, (*path, name))
        elif not action.option_strings:
            found.words |= dict.fromkeys(map(str, action.choices or ()), "")
            found.takes_files |= action.dest in _OF_FILES
        elif action.help != argparse.SUPPRESS:
            for option in action.option_strings:
                found.options[option] = action.help or ""
                if action.nargs != 0:
                    found.values[option] = list(map(str, action.choices or ())) or None
                    if action.dest in _OF_FILES:
                        found.files_of.add(option)
    yield found
    yield from below


def _shell_cases(commands: list[Words]) -> Iterator[str]:
    """The body of a function of bash or zsh: from ``place`` (the command so far) to ``reply``.

    ``before`` is the word before the one to complete; ``files`` becomes 1 where files fit too.
    """
    yield '  case "$place:$before" in'
    for one in commands:
        for option, values in one.values.items():
            key = shlex.quote(f"{' '.join(one.path)}:{option}")
            answer = f"reply={shlex.quote(' '.join(values or []))}"
            yield f"    {key}) {answer}; files={int(option in one.files_of)}; return;;"
    yield "  esac"
    yield '  case "$place" in'
    for one in commands:
        reply = shlex.quote(" ".join([*one.words, *one.options]))
        yield (
            f"    {shlex.quote(' '.join(one.path))}) reply={reply}; files={int(one.takes_files)};;"
        )
    yield "  esac"


def _shell_path(commands: list[Words]) -> Iterator[str]:
    """Lines that add a word to ``place`` where it is a command below it."""
    below = [" ".join(one.path) for one in commands if one.path]
    yield '    case "${place:+$place }$word" in'
    yield f'      {"|".join(map(shlex.quote, below))}) place="${{place:+$place }}$word";;'
    yield "    esac"


def _bash(commands: list[Words]) -> Iterator[str]:
    yield "# bash completion of fsbench; made by: fsbench completion bash"
    yield "_fsbench() {"
    yield '  local place="" before="${COMP_WORDS[COMP_CWORD-1]}" word reply="" files=0'
    yield '  local current="${COMP_WORDS[COMP_CWORD]}"'
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield from _shell_path(commands)
    yield "  done"
    yield "  _fsbench_words"
    yield '  COMPREPLY=($(compgen -W "$reply" -- "$current"))'
    yield '  if [ "$files" = 1 ] && [ "${current#-}" = "$current" ]; then'
    yield "    local IFS=$'\\n'"
    yield "    compopt -o filenames 2>/dev/null"
    yield '    COMPREPLY+=($(compgen -f -- "$current"))'
    yield "  fi"
    yield "}"
    yield "_fsbench_words() {"
    yield from _shell_cases(commands)
    yield "}"
    yield "complete -F _fsbench fsbench"


def _zsh(commands: list[Words]) -> Iterator[str]:
    yield "#compdef fsbench"
    yield "# zsh completion of fsbench; made by: fsbench completion zsh"
    yield "_fsbench() {"
    yield '  local place=""'
    yield '  local before="${words[CURRENT-1]}" word reply="" files=0'
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield from _shell_path(commands)
    yield "  done"
    yield "  _fsbench_words"
    yield '  [[ -n "$reply" ]] && compadd -- ${(s: :)reply}'
    yield "  [[ $files = 1 ]] && _files"
    yield "}"
    yield "_fsbench_words() {"
    yield from _shell_cases(commands)
    yield "}"
    # Read by compinit it is the function itself; read by `source` it makes itself known.
    yield 'if [ "$funcstack[1]" = "_fsbench" ]; then _fsbench "$@"'
    yield "else compdef _fsbench fsbench; fi"


def _fish(commands: list[Words]) -> Iterator[str]:
    yield "# fish completion of fsbench; made by: fsbench completion fish"
    yield "complete -c fsbench -f"
    for one in commands:
        where = f"-n {shlex.quote(_fish_place(one, commands))}"
        for word, meaning in one.words.items():
            yield f"complete -c fsbench {where} -a {shlex.quote(word)}{_meaning(meaning)}"
        if one.takes_files:
            yield f"complete -c fsbench {where} -F"
        for option, meaning in one.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = ""
            if option in one.values:
                values = one.values[option]
                value = f" -x -a {shlex.quote(' '.join(values))}" if values else " -x"
                value = " -r -F" if option in one.files_of else value
            yield f"complete -c fsbench {where} {flag}{value}{_meaning(meaning)}"


def _fish_place(one: Words, commands: list[Words]) -> str:
    """The condition that the words so far are this command's, and none below it is said."""
    seen = [f"__fish_seen_subcommand_from {name}" for name in one.path]
    below = [other.path[-1] for other in commands if other.path and other.path[:-1] == one.path]
    if not one.path:
        return "__fish_use_subcommand"
    if below:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(below)}")
    return "; and ".join(seen)


def _meaning(text: str) -> str:
    return f" -d {shlex.quote(text)}" if text else ""
