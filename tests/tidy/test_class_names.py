"""A class has its name for itself in the package: whoever reads the name knows which class it is.

The exceptions are one thing in several faces, where users know each by its module.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "rstream"
CONTRACT = "the contract of Reactive Streams, and what carries it out: for threads, loops, jobs"
SHARED = {
    "AnswerStream": "answers to a request, for threads and for event loops",
    "Publisher": CONTRACT,
    "Requester": "asks a service, for threads and for event loops",
    "Subscriber": CONTRACT,
    "Subscription": "demand of the contract, and the transport's receiving side in Aeron's word",
}


def modules_of_names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return found


def test_a_class_name_is_defined_once() -> None:
    several = {name: found for name, found in modules_of_names().items() if len(found) > 1}
    more = [f"{name}: {', '.join(several[name])}" for name in sorted(several.keys() - SHARED)]
    assert not more, "name what distinguishes each class:\n" + "\n".join(more)


def test_exceptions_are_still_shared() -> None:
    found = modules_of_names()
    assert not [name for name in SHARED if len(found[name]) < 2]
