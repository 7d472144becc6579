"""The command ``rstream``. Only ``metrics`` and the plots of ``lab`` need an extra."""

from rstream.cli._main import main

__all__ = ("main",)
