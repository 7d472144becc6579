"""As tests/unit/stream/test_unsendable.py, for the awaited publisher."""

from __future__ import annotations

import re

import pytest

from rstream import aio, stream
from rstream.errors import CodecError
from rstream.rate import Fixed
from tests.support import until_async

pytestmark = pytest.mark.anyio

HOLES = memoryview(b"abcd")[::2]


class Awaited:
    """An async iterable that needs no closing."""

    def __init__(self, items):
        self._items = iter(items)

    def __aiter__(self):
        return self

    async def __anext__(self):
        return next(self._items)


@pytest.mark.parametrize(
    ("codec", "bad", "text"),
    [
        ("raw", "text", "codec raw cannot send str: .*; send text.encode"),
        ("raw", HOLES, "codec raw cannot send memoryview: .*; send a contiguous copy"),
        ("msgpack", object(), ": object cannot be written as msgpack: .*; send dicts, lists"),
    ],
)
async def test_it_says_what_and_where_and_what_next(driver_dir, name, codec, bad, text):
    with stream.subscriber(name, codec=codec, dir=driver_dir):
        async with aio.publisher(name, codec=codec, dir=driver_dir, linger_s=0) as pub:
            where = re.escape(f"stream {name!r} ({pub.stream_id}) on aeron:ipc")
            with pytest.raises(CodecError, match=f"{where}.*{text}"):
                await pub.send(bad)
            with pytest.raises(CodecError, match=f"{where}.*{text}"):
                pub.offer(bad)
            await pub.send(b"a")
            with pytest.raises(CodecError, match=f"{where}.*{text}"):
                await pub.send(bad)  # now within the turn of the one before


@pytest.mark.parametrize("make", [list, iter, Awaited])
@pytest.mark.parametrize("has_bucket", [False, True])
@pytest.mark.parametrize(("codec", "bad"), [("raw", "text"), ("msgpack", object())])
async def test_the_objects_before_a_bad_one_are_sent_and_counted(
    driver_dir, name, make, has_bucket, codec, bad, monkeypatch
):
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", has_bucket)
    with stream.subscriber(name, codec=codec, dir=driver_dir) as sub:
        async with aio.publisher(
            name, codec=codec, dir=driver_dir, linger_s=0, rate=Fixed("1GB/s")
        ) as pub:
            good = [bytes([n]) * 3 for n in range(100)]
            with pytest.raises(CodecError, match="it is object 100, "):
                await pub.send_many(make([*good, bad, b"never"]))
            assert pub.statistics()["messages"] == 100
            received = []
            await until_async(lambda: received.extend(sub.poll()) or len(received) == 100)
            assert received == good
            assert await pub.wait_consumed(timeout_s=10)
