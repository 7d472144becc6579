"""``rstream key``: files of keys, and their rotation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rstream.errors import ConfigError
from rstream.keys import ENVIRONMENT, GroupKey, read_file, rotated, write_file

if TYPE_CHECKING:
    import argparse

__all__ = ("add_key", "run")

_NEXT: Final = {
    "next": "all hosts must open with the new key before one seals with it: copy the file to every "
    "host, wait 2 s, and rotate again",
    "previous": "the new key seals, and the old one still opens: copy the file to every host, wait "
    "until all have it, and rotate again",
    "": "the old key is gone: copy the file to every host",
}


def add_key(parser: argparse.ArgumentParser) -> None:
    """The actions of ``rstream key``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    new = actions.add_parser("new", help="write a file with a random key")
    show = actions.add_parser("show", help="print the ids of a file's keys, never the keys")
    rotate = actions.add_parser(
        "rotate",
        help="take the next of three steps from one key to the next",
        description="From one key to the next without a gap, in three steps: the next key opens; "
        "it seals; the previous one goes. After each step the file goes to every host. Drivers "
        "read a changed file within two seconds.",
    )
    new.add_argument("file", metavar="FILE", help="must not exist")
    for one in (show, rotate):
        one.add_argument(
            "file", metavar="FILE", nargs="?", help=f"the file of keys (default: ${ENVIRONMENT})"
        )


def run(options: argparse.Namespace) -> int:
    """Run the action; returns the exit code."""
    path = Path(options.file or os.environ.get(ENVIRONMENT) or "")
    if not path.name:
        raise ConfigError(f"rstream key {options.action}: give a file, or set {ENVIRONMENT}")
    if options.action == "new":
        if path.exists():
            raise ConfigError(
                f"key file {path}: exists already", hint=f"`rstream key rotate {path}` changes it"
            )
        write_file(path, [GroupKey.new()])
    elif options.action == "rotate":
        keys, second = rotated(path)
        write_file(path, keys, second=second)
        print(_NEXT[second])
    for index, key in enumerate(read_file(path)):
        print(f"{key.id}  {'opens' if index else 'seals and opens'}  {path}")
    return 0
