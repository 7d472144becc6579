"""A driver that may open few files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import rstream
from tests.support import until

FEW = 64


def test_a_driver_with_few_descriptors_serves_for_ever(driver_dir: str) -> None:
    """After 690 cycles the driver once had no descriptor left, and the streams stood still."""
    command = [sys.executable, "-m", "rstream", "driver", "--dir", driver_dir]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW)),
    ) as driver:
        try:
            until(lambda: os.path.exists(f"{driver_dir}/cnc.dat"))
            with rstream.Client(dir=driver_dir, start_driver=False) as client:
                for i in range(1000):
                    with (
                        rstream.subscriber("cycles", client=client) as sub,
                        rstream.publisher("cycles", client=client) as pub,
                    ):
                        pub.send(i)
                        assert sub.get(timeout_s=10) == i
            assert len(os.listdir(f"/proc/{driver.pid}/fd")) < FEW // 2
        finally:
            driver.terminate()
