"""Rate laws and fill NAKs beside Aeron peers, which they must not disturb.

A publisher of ours with a law sets one more flag in its SETUPs and sends at its own pace. A slow
reader of ours sends it fill NAKs; in a group they go to the same sockets as the frames of Aeron
receivers. An Aeron sender gets none, however slow our reader is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import rstream
from rstream import metrics
from rstream.client import Client
from tests.interop.aeron import IS_WHOLE, Aeron
from tests.interop.ends import STREAM, await_end, counter, receive_all, send_all
from tests.interop.test_matrix import TAG, channels
from tests.support import free_port, until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 400
SIZE_MAX = 1 << 16
PAUSE_S = 0.02  # pause of the slow reader, which reads one window in that time
LAWS = ("adaptive", "nak", "fixed,r:8m") if IS_WHOLE else ("adaptive",)
LAWS_OF_GROUPS = ("adaptive", "nak") if IS_WHOLE else ("nak",)


@pytest.mark.parametrize("law", LAWS)
def test_an_aeron_reader_of_a_stream_with_a_law(aeron: Aeron, driver_dir: str, law: str) -> None:
    uris = channels("unicast")
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        aeron.peer("subscribe", uris.subscription, COUNT, size_max=SIZE_MAX) as them,
        client.add_publication(f"{uris.publication}|rs-rate={law}", STREAM) as publication,
    ):
        began_s = time.monotonic()
        send_all(publication, COUNT, SIZE_MAX)
        them.await_done()
        took_s = time.monotonic() - began_s
        sent = publication.position
        publication.close()
        assert them.ask("await") == "ended True"
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == 0
        if law.startswith("fixed"):
            assert took_s >= sent / (8 << 20) * 0.9  # the publisher may still hold the last burst


@pytest.mark.parametrize("law", LAWS_OF_GROUPS)
def test_fill_naks_in_a_group_with_an_aeron_reader(
    aeron: Aeron, driver_dir: str, make_driver_dir: Callable[[], str], law: str
) -> None:
    """Our reader is slow and sends fill NAKs; Aeron's reader in its group is not disturbed.

    Aeron's reader, tagged like ours, gets the same stream and finds no fault.
    """
    group = f"aeron:udp?endpoint=224.20.30.39:{free_port()}|interface=127.0.0.1"
    reader = f"{group}|gtag={TAG}"
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        rstream.Driver(dir=make_driver_dir()) as other,
        Client(dir=other.dir, start_driver=False) as ours,
        ours.add_subscription(reader, STREAM) as subscription,
        client.add_publication(
            f"{group}|term-length=1m|fc=tagged,g:{TAG}/2|rs-rate={law}", STREAM
        ) as publication,
        aeron.peer("subscribe", reader, COUNT, size_max=SIZE_MAX) as them,
        ThreadPoolExecutor(1) as pool,
    ):
        sending = pool.submit(send_all, publication, COUNT, SIZE_MAX)
        # A busy machine may slow the sender as well: our reader begins when its buffer was filled.
        until(lambda: counter(driver_dir, "rs-fill-naks") > 0, timeout_s=30)
        receive_all(subscription, COUNT, SIZE_MAX, PAUSE_S)
        sending.result()
        them.await_done()
        assert counter(driver_dir, "rs-fill-naks") > 0
        assert counter(other.dir, "rcv-fill-naks-sent") > 0
        publication.close()
        assert them.ask("await") == "ended True"
        assert await_end(subscription).ended_in_order
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == counter(other.dir, "Invalid packets") == 0
        assert counter(driver_dir, "Errors") == 0


def test_an_aeron_sender_gets_no_fill_nak(aeron: Aeron, driver_dir: str) -> None:
    uris = channels("unicast")
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(uris.subscription, STREAM) as subscription,
        aeron.peer("publish", uris.publication, COUNT, size_max=SIZE_MAX) as them,
    ):
        receive_all(subscription, COUNT, SIZE_MAX, PAUSE_S)
        them.await_done()
        labels = [c.label for c in metrics.counters(driver_dir)]
        assert any(label.startswith("rcv-fill:") for label in labels)
        assert not any(label.startswith("rcv-fill-naks-sent") for label in labels)
        assert them.ask("close") == "closed"
        them.assert_nothing_invalid()
