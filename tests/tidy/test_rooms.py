"""The house rules of the C side: includes, one room per danger, sizes.

Each rule has an example that it must catch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TRANSPORT = Path(__file__).resolve().parents[2] / "transport_ext"

#: A folder inside a room is a room of its own: driver/sender. driver/ itself composes its rooms.
FLOORS = {
    "include": -1,
    "util": 0,
    "concurrent": 1,
    "protocol": 1,
    "channel": 1,
    "seal": 2,
    "logbuffer": 2,
    "flow": 3,
    "loss": 3,
    "media": 3,
    "cnc": 3,
    "client": 4,
    "driver/base": 4,
    "driver/sender": 5,
    "driver/receiver": 5,
    "driver/conductor": 6,
    "driver": 7,
    "lab": 8,
    "tools": 8,
    "python": 8,
    "python/lab": 9,
}
#: The only rooms that may use another room of the same floor, with the reason.
SAME_FLOOR = {("protocol", "concurrent"): "command.h names counters"}
#: The headers of an agent that the rest of the driver may include: its own header, and those of
#: the objects that it shares with the conductor. All other headers of the room are private.
DOORS = {
    "driver/sender": {
        "sender.h",
        "network_publication.h",
        "send_endpoint.h",
        "send_rate.h",
        "destination_tracker.h",
    },
    "driver/receiver": {
        "receiver.h",
        "image.h",
        "image_repair.h",
        "receive_endpoint.h",
        "receive_transport.h",
        "dispatcher.h",
    },
    "driver/conductor": {"conductor.h"},
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
    folder = path.relative_to(TRANSPORT).parent.as_posix()
    return "include" if folder.startswith("include") else folder


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def includes(text: str) -> Iterator[tuple[str, str]]:
    """Room and name of each header of ours that is included."""
    for match in re.finditer(r'#include "([a-z_]+(?:/[a-z_]+)*)/([a-z_0-9]+\.h)"', text):
        yield "include" if match[1] == "rstream" else match[1], match[2]


def wrong_includes(room: str, text: str) -> Iterator[str]:
    """A file includes its own room and lower floors only; the driver and the client never meet."""
    for target, name in includes(text):
        if target == room or (room, target) in SAME_FLOOR:
            continue
        is_meeting = {room.split("/")[0], target.split("/")[0]} == {"driver", "client"}
        if is_meeting or FLOORS.get(target, 99) >= FLOORS[room]:
            yield f"{room} includes {target}/{name}"


def private_includes(room: str, text: str) -> Iterator[str]:
    """Within the driver, an agent is seen by its doors alone."""
    for target, name in includes(text):
        if target != room and room.startswith("driver") and name not in DOORS.get(target, {name}):
            yield f"{room} includes {target}/{name}, which is private"


def only_in(rooms: set[str], pattern: str, what: str) -> Finder:
    compiled = re.compile(pattern)

    def find(room: str, text: str) -> Iterator[str]:
        if room not in rooms:
            for match in compiled.finditer(without_comments(text)):
                yield f"{what} in {room}/: {match.group().strip()}"

    return find


RULES: dict[str, tuple[Finder, str, str]] = {
    "floors": (wrong_includes, "flow", '#include "driver/sender/sender.h"'),
    "driver and client never meet": (
        wrong_includes,
        "driver/conductor",
        '#include "client/image.h"',
    ),
    "client and driver never meet": (wrong_includes, "client", '#include "driver/base/tether.h"'),
    "the driver's base knows no agent": (
        wrong_includes,
        "driver/base",
        '#include "driver/sender/sender.h"',
    ),
    "sender and receiver never meet": (
        wrong_includes,
        "driver/sender",
        '#include "driver/receiver/image.h"',
    ),
    "receiver and sender never meet": (
        wrong_includes,
        "driver/receiver",
        '#include "driver/sender/send_rate.h"',
    ),
    "sender and receiver know no conductor": (
        wrong_includes,
        "driver/receiver",
        '#include "driver/conductor/conductor.h"',
    ),
    "nobody below knows how the driver is composed": (
        wrong_includes,
        "driver/conductor",
        '#include "driver/driver.h"',
    ),
    "an agent is seen by its doors": (
        private_includes,
        "driver/conductor",
        '#include "driver/sender/resend.h"',
    ),
    "the conductor is seen by its door": (
        private_includes,
        "driver",
        '#include "driver/conductor/links.h"',
    ),
    "the core's extension knows no laboratory": (wrong_includes, "python", '#include "lab/lab.h"'),
    "Python.h only in python": (
        only_in({"python", "python/lab"}, r"#include <Python\.h>", "Python.h"),
        "client",
        "#include <Python.h>",
    ),
    "sockets only in media": (
        only_in(
            {"media"},
            r"\b(?:sendmmsg|recvmmsg|sendmsg|recvmsg|setsockopt|bind|connect|socket)\(",
            "a socket call",
        ),
        "driver",
        "setsockopt(fd, 1, 2, 3, 4);",
    ),
    "files only in cnc": (
        only_in(
            {"cnc"},
            r"(?<![\w_>.])(?:open|openat|mmap|munmap|unlink|unlinkat|mkfifo|ftruncate|fallocate"
            r"|posix_fallocate|flock|mkdir|rmdir)\(",
            "a file call",
        ),
        "driver",
        " mmap(0, 1, 2, 3, 4, 5);",
    ),
    "memory orders only in atomics.h": (
        lambda room, text: (
            iter(())
            if "RSTI_CONCURRENT_ATOMICS_H" in text
            else only_in(set(), r"__ATOMIC_\w+|memory_order_\w+", "a memory order")(room, text)
        ),
        "client",
        "__atomic_load_n(x, __ATOMIC_ACQUIRE);",
    ),
    "clock_gettime only in util": (
        only_in({"util"}, r"\bclock_gettime\(", "clock_gettime"),
        "driver",
        "clock_gettime(1, &x);",
    ),
    "rand nowhere": (only_in(set(), r"(?<![\w_])s?rand(?:om)?\(", "rand"), "flow", "x = rand();"),
    "no open ends": (only_in(set(), r"FIX" r"ME", "an open end"), "flow", "int x; FIXME"),
}


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
