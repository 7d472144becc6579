"""Makes the tables of docs/reference/cli.md: ``python -m tests.make_cli_page``.

They say what the parser of ``rstream`` says. The text around them is written by hand and kept.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rstream.cli._main import parser

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
MARK = re.compile(r"<!-- (?P<command>[\w ]+) -->\n(?:.*?\n)??<!-- end -->\n", re.DOTALL)


def commands() -> dict[str, argparse.ArgumentParser]:
    """Each command by its words; of a command with kinds, each kind."""
    found: dict[str, argparse.ArgumentParser] = {}

    def add(words: str, one: argparse.ArgumentParser) -> None:
        inner = [a for a in one._actions if isinstance(a, argparse._SubParsersAction)]
        if not inner:
            found[words] = one
        for action in inner:
            for name, child in action.choices.items():
                add(f"{words} {name}".strip(), child)

    add("", parser())
    return found


def names(action: argparse.Action) -> str:
    """The option as a user writes it."""
    words = action.option_strings or [str(action.metavar or action.dest)]
    if not action.option_strings or action.nargs == 0:
        return ", ".join(f"`{word}`" for word in words)
    value = (
        ",".join(map(str, action.choices))
        if action.choices
        else str(action.metavar or action.dest.upper().replace("-", "_"))
    )
    return ", ".join(f"`{word} {value}`" for word in words)


def table(command: argparse.ArgumentParser) -> list[str]:
    rows = [
        f"| {names(action)} | {' '.join((action.help or '').split())} |"
        for action in command._actions
        if action.dest != "help"
    ]
    return ["| option | meaning |", "|---|---|", *rows]


def page(text: str) -> str:
    """The page with new tables."""
    known = commands()

    def made(match: re.Match[str]) -> str:
        command = match["command"]
        return f"<!-- {command} -->\n" + "\n".join(table(known[command])) + "\n<!-- end -->\n"

    return MARK.sub(made, text)


def missing(text: str) -> set[str]:
    """Commands without a table on the page."""
    return set(commands()) - {match["command"] for match in MARK.finditer(text)}


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
