"""``rs-fill-window`` with real Aeron senders, which understand no fill NAKs.

A slower reader of ours gets every message in order, whichever window it announced. With the option
its queue is shorter than under a window of credit, and the senders find no fault in a status
message.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest

import rstream
from rstream.client import Client, Subscription
from tests.interop.aeron import Aeron
from tests.interop.ends import SEED, STALL_S, STREAM, await_end, counter
from tests.interop.messages import Messages
from tests.interop.test_matrix import channels

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 600
SIZE_MAX = 1 << 14
PAUSE_S = 0.001
ATTEMPTS = 3
FRAGMENTS = 4  # read at once: small beside the window of 128 KiB


def read_slowly(subscription: Subscription, directory: str) -> list[float]:
    """Receive and check every message; return the fill before each step that found data.

    The fill counts once the stream runs at the reader's pace.
    """
    messages, received, fills = Messages(SEED, SIZE_MAX), 0, []
    moved_s = time.monotonic()
    while received < COUNT:
        if COUNT // 6 < received < COUNT * 5 // 6:  # the publisher ends before its reader
            fills.append(counter(directory, "rcv-fill") / 1000)
        with subscription.poll(FRAGMENTS) as batch:
            for data in batch:
                assert data == messages.next(), f"message {received} differs"
                received += 1
                moved_s = time.monotonic()
        assert time.monotonic() - moved_s < STALL_S, f"stalled at message {received}"
        time.sleep(PAUSE_S)
    return fills


def queue_of(aeron: Aeron, directory: str, options: str) -> float:
    """The median fill."""
    uris = channels("unicast")
    with (
        rstream.Driver(dir=directory) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(uris.subscription + options, STREAM) as subscription,
        aeron.peer("publish", uris.publication, COUNT, size_max=SIZE_MAX) as them,
    ):
        fills = read_slowly(subscription, directory)
        them.await_done()
        assert them.ask("close") == "closed"
        assert await_end(subscription).ended_in_order
        them.assert_nothing_invalid()
        assert (
            counter(directory, "Invalid packets")
            == counter(directory, "Flow control over runs")
            == 0
        )
    return statistics.median(fills)


def test_a_slow_reader_of_an_aeron_sender_has_a_shorter_queue(
    aeron: Aeron, make_driver_dir: Callable[[], str]
) -> None:
    for _ in range(ATTEMPTS):  # a busy machine slows sender and reader by turns
        credit = queue_of(aeron, make_driver_dir(), "")
        cut = queue_of(aeron, make_driver_dir(), "|rs-fill-window=true")
        print(
            f"median of the queue, as a share of the window: {credit:.3f} by credit, {cut:.3f} cut"
        )
        if credit > 0.6 and cut < 0.8 * credit:
            return
    pytest.fail(f"the queue was never shorter in {ATTEMPTS} attempts")
