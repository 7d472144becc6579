"""Messages in parts from an event loop: other tasks go on, and a cancelled send sends nothing."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from rstream import aio, stream
from rstream.errors import BackPressured, ClosedError, MessageTooLarge
from tests.support import until_async

pytestmark = pytest.mark.anyio

MIB = 1 << 20


async def read(sub, items, count):
    while len(items) < count:
        items += sub.poll()
        await anyio.lowlevel.checkpoint()


@pytest.mark.usefixtures("in_parts")
async def test_small_messages_of_other_tasks_pass(driver_dir, name):
    items, sent = [], []
    large = bytes(range(256)) * (20 * MIB // 256)
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with aio.publisher(name, bytes, dir=driver_dir) as pub:
            done = anyio.Event()

            async def send_small():
                while not done.is_set():
                    await pub.send(b"%70d" % len(sent))
                    sent.append(len(sent))
                    await anyio.sleep(0.0005)

            async def send_large():
                await until_async(lambda: len(sent) > 3)
                await pub.send(large)
                done.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send_small)
                tasks.start_soon(send_large)
                while not done.is_set():
                    items += sub.poll()
                    await anyio.lowlevel.checkpoint()
            await read(sub, items, len(sent) + 1)
            assert pub.progress is None
        place = next(at for at, item in enumerate(items) if len(item) > 100)
        assert items.pop(place) == large
        assert place > 5  # some of the small ones came between
        assert items == [b"%70d" % number for number in sent]


async def test_long_messages_of_tasks_take_turns_and_send_many_takes_them(driver_dir, name):
    messages = [bytes([number]) * (300_000 + number) for number in range(4)]
    items = []
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with aio.publisher(name, bytes, dir=driver_dir) as pub:
            async with anyio.create_task_group() as tasks:
                for message in messages:
                    tasks.start_soon(pub.send, message)
                await read(sub, items, 4)
            assert sorted(items) == messages  # trio starts tasks in any order
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pub.send_many, [b"a", messages[0], b"b", b"c", messages[1]])
                await read(sub, items, 9)
            assert items[4:] == [b"a", messages[0], b"b", b"c", messages[1]]


@pytest.mark.usefixtures("in_parts")
async def test_a_cancelled_send_has_sent_nothing(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
            await until_async(lambda: pub.is_connected)
            with anyio.move_on_after(0.05) as scope:
                await pub.send(bytes(4 * MIB))
            assert scope.cancelled_caught
            assert pub.progress is None
            with pytest.raises(BackPressured):
                await pub.send(bytes(4 * MIB), timeout_s=0.05)
            items = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pub.send, b"behind")
                await read(sub, items, 1)
            assert items == [b"behind"]
            gaps = [event for event in sub.events() if isinstance(event, stream.Gap)]
            assert gaps
            assert all("4194304 bytes in parts: its publisher gave" in gap.reason for gap in gaps)
            assert sub.statistics()["partial_bytes"] == 0


@pytest.mark.usefixtures("in_parts")
async def test_close_ends_it_and_offer_takes_none(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir, on_lost="event"):
        pub = await aio.publisher(name, bytes, dir=driver_dir, linger_s=0)
        await until_async(lambda: pub.is_connected)
        with pytest.raises(MessageTooLarge, match="await"):
            pub.offer(bytes(MIB))

        async def send():
            with pytest.raises(ClosedError):
                await pub.send(bytes(4 * MIB))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await until_async(lambda: pub.progress and pub.progress.sent_bytes > 100_000)
            await pub.close()
        with pytest.raises(ClosedError):
            await pub.send(bytes(MIB))
