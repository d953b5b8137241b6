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
    command = Words(path)
    below: list[Words] = []
    # argparse tells nobody what a parser takes; in 3.9 to 3.14 these names are the same.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            values = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for name, subparser in action.choices.items():
                if name not in values:  # a former name of another one
                    continue
                command.words[name] = values[name]
                below += _commands(subparser, (*path, name))
        elif not action.option_strings:
            command.words |= dict.fromkeys(map(str, action.choices or ()), "")
            command.takes_files |= action.dest in _OF_FILES
        elif action.help != argparse.SUPPRESS:
            for option in action.option_strings:
                command.options[option] = action.help or ""
                if action.nargs != 0:
                    command.values[option] = list(map(str, action.choices or ())) or None
                    if action.dest in _OF_FILES:
                        command.files_of.add(option)
    yield command
    yield from below


def _shell_cases(commands: list[Words]) -> Iterator[str]:
    """The body of a function of bash or zsh: from ``place`` (the command so far) to ``reply``.

    ``before`` is the word before the one to complete; ``files`` becomes 1 where files fit too.
    """
    yield '  case "$place:$before" in'
    for command in commands:
        for option, values in command.values.items():
            key = shlex.quote(f"{' '.join(command.path)}:{option}")
            answer = f"reply={shlex.quote(' '.join(values or []))}"
            yield f"    {key}) {answer}; files={int(option in command.files_of)}; return;;"
    yield "  esac"
    yield '  case "$place" in'
    for command in commands:
        reply = shlex.quote(" ".join([*command.words, *command.options]))
        yield (
            f"    {shlex.quote(' '.join(command.path))}) reply={reply}; "
            f"files={int(command.takes_files)};;"
        )
    yield "  esac"


def _shell_path(commands: list[Words]) -> Iterator[str]:
    """Lines that add a word to ``place`` where it is a command below it."""
    below = [" ".join(command.path) for command in commands if command.path]
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
    for command in commands:
        condition = f"-n {shlex.quote(_fish_place(command, commands))}"
        for word, meaning in command.words.items():
            yield f"complete -c fsbench {condition} -a {shlex.quote(word)}{_meaning(meaning)}"
        if command.takes_files:
            yield f"complete -c fsbench {condition} -F"
        for option, meaning in command.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = ""
            if option in command.values:
                values = command.values[option]
                value = f" -x -a {shlex.quote(' '.join(values))}" if values else " -x"
                value = " -r -F" if option in command.files_of else value
            yield f"complete -c fsbench {condition} {flag}{value}{_meaning(meaning)}"


def _fish_place(command: Words, commands: list[Words]) -> str:
    """The condition that the words so far are this command's, and none below it is said."""
    seen = [f"__fish_seen_subcommand_from {name}" for name in command.path]
    below = [other.path[-1] for other in commands if other.path and other.path[:-1] == command.path]
    if not command.path:
        return "__fish_use_subcommand"
    if below:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(below)}")
    return "; and ".join(seen)


def _meaning(text: str) -> str:
    return f" -d {shlex.quote(text)}" if text else ""
