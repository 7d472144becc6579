"""What is said of a reader that is there no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from rstream import _core, _neighbours
from tests.support import until


def test_of_a_reader_that_was_cut_off_it_is_said_that_its_process_is_stopped(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        left_ms = int(time.time() * 1000) - 3000
        monkeypatch.setattr(
            _core,
            "read_last_reader",
            lambda *_: _core.LastReader((left_ms, "", process.pid, "slow.py")),
        )
        who = f"slow.py, pid {process.pid}"
        said = "left 3 s ago and said no error: it closed, or was cut off"
        try:
            told = _neighbours.tell_last_reader(*_neighbours.last_reader("", 1))
            assert told == f"the last reader ({who}) {said}"
            os.kill(process.pid, signal.SIGSTOP)
            until(lambda: _neighbours.last_reader("", 1)[2] != who)
            told = _neighbours.tell_last_reader(*_neighbours.last_reader("", 1))
            assert told == f"the last reader ({who}, which is stopped) {said}"
        finally:
            process.kill()
