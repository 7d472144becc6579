"""The house rules of the C side: includes, one room per danger, sizes.

Each rule has an example that it must catch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TRANSPORT = Path(__file__).resolve().parents[2] / "transport_ext"

FLOORS = {
    "include": -1, "util": 0, "concurrent": 1, "protocol": 1, "channel": 1, "logbuffer": 2,
    "flow": 3, "loss": 3, "media": 3, "cnc": 3, "driver": 4, "client": 4, "inline": 5, "lab": 5,
    "tools": 6, "python": 6,
}  # fmt: skip
#: The only rooms that may use another room of the same floor, with the reason.
SAME_FLOOR = {
    ("protocol", "concurrent"): "command.h names counters",
    ("media", "protocol"): "lower floor",
}
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800

Finder = Callable[[str, str], Iterator[str]]


def sources(*suffixes: str) -> list[Path]:
    found = [
        path
        for path in sorted(TRANSPORT.rglob("*"))
        if path.suffix in suffixes
        and not {"tests", "fuzz", "bench", "build"} & set(path.relative_to(TRANSPORT).parts)
    ]
    assert len(found) > 20
    return found


def room_of(path: Path) -> str:
    return path.relative_to(TRANSPORT).parts[0]


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def wrong_includes(room: str, text: str) -> Iterator[str]:
    """A file includes its own room and lower floors only."""
    for match in re.finditer(r'#include "([a-z_]+)/([a-z_0-9]+\.h)"', text):
        target = "include" if match[1] == "rstream" else match[1]
        if target == room or (room, target) in SAME_FLOOR:
            continue
        if FLOORS.get(target, 99) >= FLOORS[room]:
            yield f"{room} includes {match[1]}/{match[2]}"


def only_in(rooms: set[str], pattern: str, what: str) -> Finder:
    compiled = re.compile(pattern)

    def find(room: str, text: str) -> Iterator[str]:
        if room not in rooms:
            for match in compiled.finditer(without_comments(text)):
                yield f"{what} in {room}/: {match.group().strip()}"

    return find


RULES: dict[str, tuple[Finder, str, str]] = {
    "floors": (wrong_includes, "flow", '#include "driver/sender.h"'),
    "driver and client never meet": (wrong_includes, "driver", '#include "client/image.h"'),
    "Python.h only in python": (
        only_in({"python"}, r"#include <Python\.h>", "Python.h"),
        "client", "#include <Python.h>",
    ),
    "sockets only in media": (
        only_in(
            {"media"},
            r"\b(?:sendmmsg|recvmmsg|sendmsg|recvmsg|setsockopt|bind|connect|socket)\(",
            "a socket call",
        ),
        "driver", "setsockopt(fd, 1, 2, 3, 4);",
    ),
    "files only in cnc": (
        only_in(
            {"cnc"},
            r"(?<![\w_>.])(?:open|openat|mmap|munmap|unlink|unlinkat|mkfifo|ftruncate|fallocate"
            r"|posix_fallocate|flock|mkdir|rmdir)\(",
            "a file call",
        ),
        "driver", " mmap(0, 1, 2, 3, 4, 5);",
    ),
    "memory orders only in atomics.h": (
        lambda room, text: iter(()) if "RSTI_CONCURRENT_ATOMICS_H" in text
        else only_in(set(), r"__ATOMIC_\w+|memory_order_\w+", "a memory order")(room, text),
        "client", "__atomic_load_n(x, __ATOMIC_ACQUIRE);",
    ),
    "clock_gettime only in util": (
        only_in({"util"}, r"\bclock_gettime\(", "clock_gettime"),
        "driver", "clock_gettime(1, &x);",
    ),
    "rand nowhere": (only_in(set(), r"(?<![\w_])s?rand(?:om)?\(", "rand"), "flow", "x = rand();"),
    "no open ends": (only_in(set(), r"FIX" r"ME", "an open end"), "flow", "int x; FIX" "ME"),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds(rule: str) -> None:
    find = RULES[rule][0]
    broken = [
        f"{path.relative_to(TRANSPORT)}: {text}"
        for path in sources(".c", ".h")
        for text in find(room_of(path), path.read_text())
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("rule", RULES)
def test_rule_catches_its_example(rule: str) -> None:
    find, room, example = RULES[rule]
    assert list(find(room, example))


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Name and length in lines of each function (brace on a line of its own in column 0)."""
    name, start = "", 0
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line == "{":
            start = number
            head = " ".join(lines[max(0, number - 6) : number])
            names = re.findall(r"(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*$", head)
            name = names[-1] if names else "?"
        elif line.startswith("}") and start:
            yield name, number - start + 1
            start = 0


def test_functions_fit_a_screen() -> None:
    long = [
        f"{path.relative_to(TRANSPORT)}: {name} has {length} lines"
        for path in sources(".c", ".h")
        for name, length in functions(path.read_text())
        if length > FUNCTION_LINES_MAX
    ]
    assert not long, "\n".join(long)


def test_long_function_is_seen() -> None:
    text = "static int f(void)\n{\n" + "    x++;\n" * 80 + "}\n"
    assert list(functions(text)) == [("f", 82)]


def test_files_are_split_in_time() -> None:
    long = [
        f"{path.relative_to(TRANSPORT)}: {count} lines"
        for path in sources(".c", ".h")
        if (count := len(path.read_text().splitlines())) > FILE_LINES_MAX
    ]
    assert not long, "\n".join(long)
