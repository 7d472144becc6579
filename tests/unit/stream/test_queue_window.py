"""A queue with a policy does not hold a publisher of another program, small window or not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rstream import policy, stream
from tests.support import free_port

COUNT = 5000
SCRIPT = f"""
import sys
import rstream
name, directory, channel = sys.argv[1:]
with rstream.publisher(name, channel=channel, dir=directory, linger_s=0) as publisher:
    for number in range({COUNT}):
        publisher.send(number, timeout_s=10)
    print("sent", flush=True)
    sys.stdin.read()
"""
POLICIES = {
    "drop oldest": policy.DropOldest(100),
    "drop newest": policy.DropNewest(100),
    "latest": policy.Latest(),
    "conflate": policy.Conflate(merge=lambda waiting, new: max(waiting, new)),
}


@pytest.mark.parametrize("on_slow", POLICIES)
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_its_reader_need_not_take_anything(driver_dir, name, medium, on_slow):
    """The window before a reader that takes nothing is a datagram or two."""
    channel = "aeron:ipc" if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    command = [sys.executable, "-c", SCRIPT, name, driver_dir, channel]
    with stream.subscriber(name, channel=channel, dir=driver_dir, on_slow=POLICIES[on_slow]) as sub:
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as program:
            assert program.stdout.readline() == "sent\n"
            program.stdin.close()
        assert sub.statistics()["messages"] > 100
