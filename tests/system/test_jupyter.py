"""A loop in a cell of a Jupyter kernel that catches KeyboardInterrupt and goes on loses nothing.

It needs ``pip install ipykernel jupyter_client`` (24 packages, 100 MB unpacked), so no target
installs them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

import rstream
from tests.support import in_thread

INTERRUPTS = int(os.environ.get("RSTREAM_TEST_INTERRUPTS", "2000"))
BETWEEN_S = 0.001, 0.020
SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
END = -1

OPEN = """
import os, rstream
sub = rstream.subscriber({name!r}, int, dir={directory!r})
got, caught = [], 0
os.getpid()
"""
# What the loop was given is noted by a call of C: no handler runs before that.
READ = """
while not got or got[-1] != -1:
    try:
        for x in sub:
            got.append(x)
            if x == -1:
                break
    except KeyboardInterrupt:
        caught += 1
"""
TELL = """
missing = len(set(range(len(got) - 1)) - set(got))
(len(got) - 1, missing, len(got) - len(set(got)), caught)
"""


@pytest.mark.long
@pytest.mark.timeout(300)
def test_2000_interrupts_of_a_loop_in_a_cell(driver_dir, name):
    client = pytest.importorskip(
        "jupyter_client", reason="no Jupyter here: pip install ipykernel jupyter_client"
    )
    pytest.importorskip("ipykernel", reason="no kernel here: pip install ipykernel")
    random_between = random.Random(SEED)
    manager, kernel = client.manager.start_new_kernel(kernel_name="python3")
    stop = threading.Event()
    try:

        def run(code):
            """The value of the last line; None: Ctrl-C ended the cell."""
            found = []

            def keep(message):
                if message["msg_type"] == "execute_result":
                    found.append(message["content"]["data"]["text/plain"])

            reply = kernel.execute_interactive(code, timeout=120, output_hook=keep)["content"]
            if reply["status"] == "error" and reply["ename"] == "KeyboardInterrupt":
                return None
            assert reply["status"] == "ok", reply
            return found[-1] if found else ""

        def send():
            with rstream.publisher(name, int, dir=driver_dir) as pub:
                number = 0
                while not stop.is_set():
                    pub.send_many(range(number, number + 100))
                    number += 100
                    time.sleep(0.001)  # the cell keeps all of them
                pub.send(END)
                pub.wait_consumed(timeout_s=60)

        def interrupt(pid):
            for _ in range(INTERRUPTS):
                time.sleep(random_between.uniform(*BETWEEN_S))
                os.kill(pid, signal.SIGINT)
            stop.set()

        pid = int(run(OPEN.format(name=name, directory=driver_dir)))
        sender, interrupter = in_thread(send), in_thread(interrupt, pid)
        while run(READ) is None:  # one came between two rounds of the loop around it
            pass
        interrupter.join(60)
        sender.join(60)
        count, missing, twice, caught = eval(run(TELL))
        print(f"seed {SEED}: {count} items, {caught} interrupts caught in the loop")
        assert (missing, twice) == (0, 0), f"seed {SEED}"
        assert caught > INTERRUPTS // 2
        assert count > caught
    finally:
        stop.set()
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
