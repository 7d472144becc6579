"""``python -m rstream`` is the command ``rstream``."""

from __future__ import annotations

import sys

from rstream.cli import main

if __name__ == "__main__":
    sys.exit(main())
