"""``rstream top``: the sessions of a driver as a table that renews itself.

``rich`` draws it where that is installed and the output is a terminal; else it is plain text.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream.cli._directory import ALIVE, tell_missing
from rstream.cli._live_options import goes_on, interval_s
from rstream.cli._top_rows import HEADINGS, CounterLook, TopRow, cells, look, rows
from rstream.driver import resolve_dir
from rstream.errors import RStreamError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from rich.table import Table

#: Lines of the screen that are no rows: title, headings, what was left out, and the prompt.
OTHER_LINES: Final = 6
#: Columns of numbers, which are aligned to the right.
NUMBERS: Final = frozenset({"session", "rate", "limit", "fill", "delay"})


def run(options: argparse.Namespace) -> int:
    """Show the table until Ctrl-C or the end of the driver; into a pipe one time."""
    driver_dir = resolve_dir(options.dir)
    if _core.probe(driver_dir) < ALIVE:
        return tell_missing(driver_dir)
    before = look(driver_dir)
    between_s = interval_s(options)
    if not goes_on(options):
        time.sleep(between_s)
        print(_text(driver_dir, rows(before, look(driver_dir))))
        return 0
    if sys.stdout.isatty():
        try:
            return _in_rich(driver_dir, before, between_s)
        except ModuleNotFoundError:
            pass  # no rich: plain text
    return _in_text(driver_dir, before, between_s)


def _title(driver_dir: str) -> str:
    return f"{driver_dir}, driver pid {_core.driver_info(driver_dir).pid}"


def _text(driver_dir: str, shown: Sequence[TopRow], rows_max: int | None = None) -> str:
    table = [HEADINGS, *(cells(row) for row in shown[:rows_max])]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.rjust(width) if heading in NUMBERS else cell.ljust(width)
            for heading, cell, width in zip(HEADINGS, line, widths, strict=True)
        ).rstrip()
        for line in table
    ]
    return "\n".join([_title(driver_dir), *lines, *_left_out(shown, rows_max)])


def _left_out(shown: Sequence[TopRow], rows_max: int | None) -> list[str]:
    more = 0 if rows_max is None else len(shown) - rows_max
    return [f"and {more} more, which send less"] if more > 0 else []


def _repeat(
    driver_dir: str, before: CounterLook, interval_s: float, draw: Callable[[list[TopRow]], None]
) -> int:
    """Draw now and after each interval, until the driver ends."""
    draw(rows(None, before))
    while True:
        time.sleep(interval_s)
        try:
            now = look(driver_dir)
        except RStreamError:
            return tell_missing(driver_dir)
        if _core.probe(driver_dir) < ALIVE:
            return tell_missing(driver_dir)
        draw(rows(before, now))
        before = now


def _in_text(driver_dir: str, before: CounterLook, interval_s: float) -> int:
    def draw(shown: list[TopRow]) -> None:
        if sys.stdout.isatty():
            height = max(1, shutil.get_terminal_size().lines - OTHER_LINES)
            print("\x1b[2J\x1b[H" + _text(driver_dir, shown, height), flush=True)
        else:
            print(_text(driver_dir, shown) + "\n", flush=True)

    return _repeat(driver_dir, before, interval_s, draw)


def _in_rich(driver_dir: str, before: CounterLook, interval_s: float) -> int:
    from rich.live import Live

    with Live(screen=True, auto_refresh=False) as live:

        def draw(shown: list[TopRow]) -> None:
            height = max(1, live.console.height - OTHER_LINES)
            live.update(_table(driver_dir, shown, height), refresh=True)

        return _repeat(driver_dir, before, interval_s, draw)


def _table(driver_dir: str, shown: Sequence[TopRow], rows_max: int) -> Table:
    from rich.markup import escape
    from rich.table import Table

    caption = "; ".join([*_left_out(shown, rows_max), "Ctrl-C ends"])
    table = Table(title=escape(_title(driver_dir)), caption=caption, expand=True)
    for heading in HEADINGS:
        table.add_column(
            heading,
            justify="right" if heading in NUMBERS else "left",
            no_wrap=heading != "state",
            ratio=1 if heading == "state" else None,
        )
    for row in shown[:rows_max]:
        table.add_row(*map(escape, cells(row)))
    return table
