"""The command ``rstream``: stat, driver, errors, bench, doctor. Needs no extras."""

from rstream.cli._main import main

__all__ = ("main",)
