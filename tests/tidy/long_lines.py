"""Which files of C and Python have lines of more than 100 characters: a list that only shrinks.

python -m tests.tidy.long_lines           prints files and how many such lines each has
python -m tests.tidy.long_lines --write   writes the list anew; refuses when there are more
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("long_lines.txt")
LENGTH_MAX = 100
FOLDERS = (".ci", "rstream", "transport_ext", "tests", "examples")
SUFFIXES = (".c", ".h", ".py", ".pyi", ".sh")


def found() -> dict[str, int]:
    """Each file that has long lines, with their number."""
    counts = {
        str(path.relative_to(ROOT)): sum(
            len(line) > LENGTH_MAX for line in path.read_text().splitlines()
        )
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    }
    return {name: count for name, count in counts.items() if count}


def allowed() -> dict[str, int]:
    """The same as the list has it."""
    pairs = (line.rsplit(maxsplit=1) for line in LIST.read_text().splitlines())
    return {name: int(count) for name, count in pairs}


def main() -> int:
    counts = found()
    text = "".join(f"{name} {count}\n" for name, count in counts.items())
    if sys.argv[1:] != ["--write"]:
        print(text, end="")
        return 0
    if LIST.exists() and sum(counts.values()) > sum(allowed().values()):
        print("long lines: there are more than before; break the new ones")
        return 1
    LIST.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
