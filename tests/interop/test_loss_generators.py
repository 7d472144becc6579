"""Loss generators of Aeron's C driver, by Aeron's names, in our driver with Aeron's clients.

What must hold: the driver starts without a word, loses what the generator says, and the stream
arrives whole, because it was repaired.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rstream import metrics
from rstream.driver import rstreamd_path
from tests.interop.ends import SEED, counter, peer, udp_channel
from tests.support import until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 1000
SIZE_MAX = 1000
ARGS = "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_"
INCOMING = "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS"
# Of each: the settings, and the fewest NAKs. Several gaps may be asked for by one; without loss
# there is none.
GENERATORS = {
    "loss": (
        {INCOMING: "loss", f"{ARGS}LOSS_ARGS": "rate=0.2|seed=3405691582|recv-msg-mask=0x2"},
        2,
    ),
    "loss-of-control": (
        {INCOMING: "loss", f"{ARGS}LOSS_ARGS": "rate=0.2|seed=7|recv-msg-mask=0xE"},
        2,
    ),
    "fixed-loss": (
        {INCOMING: "fixed-loss", f"{ARGS}FIXED_LOSS_ARGS": "term-id=0|term-offset=0|length=8192"},
        1,
    ),
    "multi-gap-loss": (
        {
            INCOMING: "multi-gap-loss",
            f"{ARGS}MULTI_GAP_LOSS_ARGS": "term-id=0|gap-radix=4096|gap-length=1408|total-gaps=8",
        },
        2,
    ),
    "debug-rates": (
        {
            "AERON_DEBUG_RECEIVE_DATA_LOSS_RATE": "0.1",
            "AERON_DEBUG_RECEIVE_DATA_LOSS_SEED": "-1",
            "AERON_DEBUG_SEND_CONTROL_LOSS_RATE": "0.1",
        },
        2,
    ),
}


@contextmanager
def our_driver(directory: str, settings: dict[str, str]) -> Iterator[None]:
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("RSTREAM_")}
    process = subprocess.Popen(
        [rstreamd_path()],
        env={**inherited, "AERON_DIR": directory, **settings},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: os.path.exists(os.path.join(directory, "cnc.dat")))
        yield
    finally:
        process.terminate()
        _, text = process.communicate(timeout=30)
    assert text == ""


@pytest.mark.parametrize("name", GENERATORS)
def test_a_stream_is_repaired(aeron_python: str, driver_dir: str, name: str) -> None:
    """P1, P2, P3."""
    print(f"RSTREAM_SEED={SEED}")
    settings, fewest = GENERATORS[name]
    channel = udp_channel()
    start = "|term-length=64k|init-term-id=0|term-id=0|term-offset=0"
    with (
        our_driver(driver_dir, settings),
        peer(
            aeron_python, "subscribe", channel, COUNT, directory=driver_dir, size_max=SIZE_MAX
        ) as reader,
        peer(
            aeron_python, "publish", channel + start, COUNT, directory=driver_dir, size_max=SIZE_MAX
        ) as writer,
    ):
        writer.await_done()
        reader.await_done()
        assert counter(driver_dir, "NAKs sent") >= fewest, metrics.counters(driver_dir)
        assert counter(driver_dir, "Retransmits sent") >= 1
        reader.assert_nothing_invalid()
