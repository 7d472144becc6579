"""No line of C or Python is longer than 100 characters, in code, comments and docstrings alike."""

from __future__ import annotations

from tests.tidy.long_lines import allowed, found


def test_no_file_gets_longer_lines() -> None:
    before, now = allowed(), found()
    more = [
        f"{name}: {count} lines of more than 100 characters, {before.get(name, 0)} before"
        for name, count in now.items()
        if count > before.get(name, 0)
    ]
    assert not more, "\n".join(more)


def test_the_list_has_shrunk_with_the_lines() -> None:
    before, now = allowed(), found()
    better = [name for name, count in before.items() if count > now.get(name, 0)]
    assert not better, (
        f"fewer long lines than listed, run python -m tests.tidy.long_lines --write: {better}"
    )
