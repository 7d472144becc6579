"""The include picture of the C side: which files use which, room by room.

    python -m tests.tidy.picture [--repo PATH] [ROOM...]

A unit is a ``.c`` file with its ``.h``, counted once. An arrow A -> B says that A includes the
header of B, or uses a function that B alone defines. A circle is a set of units that reach each
other by arrows. The units of a room are stacked so that each stands above all that it uses. Within
a circle no order does that: the arrows that still point upward are counted. The order is a greedy
one, so they are few, and the same at each run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Folders that are not rooms, and generated files.
NOT_ROOMS = {"tests", "fuzz", "bench", "build"}
#: The agents of the driver, each in a room of its own.
AGENTS = ("sender", "receiver", "conductor")

Arrows = Mapping[str, set[str]]

_INCLUDE = re.compile(r'^#include "([^"]+)\.h"', re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|struct\b|enum\b|union\b|else\b|return\b)"
    r"[a-zA-Z_][\w \t*]*?[ \t*](\w+)\([^;{}]*\)\n\{",
    re.MULTILINE,
)
_DECLARATION = re.compile(r"^[a-zA-Z_][\w \t*]*?[ \t*]\w+\([^;{}]*\);", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def _without_noise(text: str) -> str:
    """Without comments and strings; names of included files stay."""
    return _NOISE.sub(lambda m: m.group() if _is_include(text, m.start()) else " ", text)


def _is_include(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].startswith("#include")


def read_units(transport: Path) -> dict[str, str]:
    """The text of each unit by its path without the ending."""
    units: dict[str, str] = defaultdict(str)
    for path in sorted(transport.rglob("*.[ch]")):
        relative = path.relative_to(transport)
        if not NOT_ROOMS & set(relative.parts):
            units[str(relative.with_suffix(""))] += _without_noise(path.read_text()) + "\n"
    return dict(units)


def find_arrows(units: Mapping[str, str]) -> dict[str, set[str]]:
    """Which units each unit uses."""
    owners: dict[str, set[str]] = defaultdict(set)
    for name, text in units.items():
        for function in _DEFINITION.findall(text):
            owners[function].add(name)
    alone = {function: min(names) for function, names in owners.items() if len(names) == 1}
    arrows: dict[str, set[str]] = {}
    for name, text in units.items():
        used = {include for include in _INCLUDE.findall(text) if include in units}
        words = set(_WORD.findall(_DECLARATION.sub("", text)))
        used |= {alone[word] for word in words & alone.keys()}
        arrows[name] = used - {name}
    return arrows


def find_circles(arrows: Arrows) -> list[list[str]]:
    """Strongly connected components, each after all that it uses (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(arrows):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        is_open.add(root)
        work = [(root, iter(sorted(arrows[root])))]
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(sorted(stack[cut:]))
                    is_open.difference_update(stack[cut:])
                    del stack[cut:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                is_open.add(following)
                work.append((following, iter(sorted(arrows[following]))))
            elif following in is_open:
                low[node] = min(low[node], index[following])
    return found


def order_circle(circle: Sequence[str], arrows: Arrows) -> list[str]:
    """From low to high, greedy, so that few arrows point upward (Eades, Lin and Smyth)."""
    left = set(circle)
    uses = {name: arrows[name] & left for name in circle}
    used_by = {name: {other for other in circle if name in uses[other]} for name in circle}
    lowest: list[str] = []
    highest: list[str] = []
    while left:
        free = sorted(name for name in left if not uses[name] & left)
        unused = sorted(name for name in left if not used_by[name] & left)
        if free:
            chosen, target = free[0], lowest
        elif unused:
            chosen, target = unused[0], highest
        else:
            # Used by many and using few: it belongs below.
            chosen = min(left, key=lambda n: (len(uses[n] & left) - len(used_by[n] & left), n))
            target = lowest
        target.append(chosen)
        left.remove(chosen)
    return lowest + highest[::-1]


def upward(arrows: Arrows) -> list[tuple[str, str]]:
    """The arrows that point upward; all of them lie within circles."""
    found: list[tuple[str, str]] = []
    for circle in find_circles(arrows):
        place = {name: i for i, name in enumerate(order_circle(circle, arrows))}
        found += [
            (a, b) for a in circle for b in sorted(arrows[a]) if b in place and place[b] > place[a]
        ]
    return found


def within(arrows: Arrows, names: Iterable[str]) -> dict[str, set[str]]:
    """The arrows among these units."""
    kept = set(names)
    return {name: arrows[name] & kept for name in sorted(kept)}


def room_of(unit: str) -> str:
    """The folder of a unit."""
    return unit.rpartition("/")[0]


def describe(title: str, arrows: Arrows) -> str:
    """One line: units, arrows, upward arrows, sizes of circles."""
    sizes = sorted((len(c) for c in find_circles(arrows) if len(c) > 1), reverse=True)
    count = sum(map(len, arrows.values()))
    return (
        f"{title:20} {len(arrows):5} {count:7} {len(upward(arrows)):7}   "
        f"{' '.join(map(str, sizes)) or 'none'}"
    )


def across_agents(arrows: Arrows) -> list[str]:
    """How many arrows lead from one agent's room into another one's."""
    count: dict[tuple[str, str], int] = dict.fromkeys(
        ((a, b) for a in AGENTS for b in AGENTS if a != b), 0
    )
    for name, used in arrows.items():
        for other in used:
            pair = (room_of(name).rpartition("/")[2], room_of(other).rpartition("/")[2])
            if pair in count:
                count[pair] += 1
    return [f"{a} -> {b}: {n}" for (a, b), n in count.items()]


def circles_across_agents(arrows: Arrows) -> list[list[str]]:
    """Circles with units of more than one room."""
    return [c for c in find_circles(arrows) if len({room_of(name) for name in c}) > 1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.tidy.picture")
    parser.add_argument(
        "--repo", type=Path, default=ROOT, help="a checkout to look at; default: this one"
    )
    parser.add_argument(
        "--circles", action="store_true", help="print the members of circles and upward arrows too"
    )
    parser.add_argument(
        "rooms", nargs="*", metavar="ROOM", help="such as driver or driver/sender; default: all"
    )
    options = parser.parse_args(arguments)
    units = read_units(options.repo / "transport_ext")
    arrows = find_arrows(units)
    folders = sorted({room_of(name) for name in units})
    wanted = options.rooms or sorted({folder.split("/")[0] for folder in folders})
    print(f"{'room':20} {'units':>5} {'arrows':>7} {'upward':>7}   circles")
    for room in wanted:
        whole = within(arrows, (n for n in units if n.startswith(room + "/")))
        if not whole:
            print(f"no room {room}", file=sys.stderr)
            return 2
        parts = [f for f in folders if f == room or f.startswith(room + "/")]
        print(describe(room, whole))
        if len(parts) > 1:
            for part in parts:
                title = f"  {part}" if part != room else f"  {room} (top)"
                print(describe(title, within(arrows, (n for n in units if room_of(n) == part))))
            print("  between agents: " + ", ".join(across_agents(whole)))
            print(f"  circles across rooms: {len(circles_across_agents(whole)) or 'none'}")
        if options.circles:
            for circle in find_circles(whole):
                if len(circle) > 1:
                    print("  circle: " + " ".join(circle))
            for a, b in upward(whole):
                print(f"  upward: {a} -> {b}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
