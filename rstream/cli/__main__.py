"""``python -m rstream.cli``."""

import sys

from rstream.cli._main import main

sys.exit(main())
