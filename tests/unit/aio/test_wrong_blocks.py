"""A face used in a way that its kind does not have: one line that says what to write."""

from __future__ import annotations

import pytest

import rstream
from rstream import aio, service, work

LINES = {
    "publisher": r"this publisher is not open yet; write `async with rstream\.aio\.publisher\(",
    "subscriber": r"this subscriber is not open yet; write `async with rstream\.aio\.subscriber\(",
}


@pytest.mark.parametrize("kind", LINES)
def test_a_face_that_was_not_awaited_says_so(driver_dir, name, kind):
    opening = getattr(aio, kind)(name, dir=driver_dir)
    assert repr(opening) == f"<rstream.aio.{kind}, not open yet>"
    with pytest.raises(AttributeError, match=f"^send: {LINES[kind]}"):
        opening.send(1)
    with pytest.raises(TypeError, match=LINES[kind]):
        with opening:
            pass
    with pytest.raises(TypeError, match=LINES[kind]):
        list(opening)
    assert not hasattr(opening, "statistics")


@pytest.mark.anyio
async def test_an_async_for_over_a_subscriber_that_is_not_open_says_so(driver_dir, name):
    with pytest.raises(TypeError, match=LINES["subscriber"]):
        async for _item in aio.subscriber(name, dir=driver_dir):
            pass


@pytest.mark.anyio
async def test_with_around_an_open_face_says_so(driver_dir, name):
    for open_it, kind in ((aio.publisher, "publisher"), (aio.subscriber, "subscriber")):
        async with open_it(name, dir=driver_dir) as face:
            with pytest.raises(TypeError, match=rf"write `async with rstream\.aio\.{kind}\("):
                with face:
                    pass
    with pytest.raises(TypeError, match=r"write `async with rstream\.aio\.requester\("):
        with aio.requester(name, dir=driver_dir):
            pass


@pytest.mark.anyio
async def test_async_with_around_a_face_that_blocks_says_so(driver_dir, name):
    for open_it, kind in ((rstream.publisher, "publisher"), (rstream.subscriber, "subscriber")):
        with open_it(name, dir=driver_dir) as face:
            with pytest.raises(TypeError, match=rf"`async with rstream\.aio\.{kind}\(\.\.\.\)`"):
                async with face:
                    pass
    with service.requester(name, dir=driver_dir) as asks:
        with pytest.raises(TypeError, match=r"`async with rstream\.aio\.requester\(\.\.\.\)`"):
            async with asks:
                pass


def blocking_faces(name, driver_dir):
    yield rstream.subscriber(name, dir=driver_dir), r"rstream\.aio\.subscriber"
    yield work.subscriber(name, dir=driver_dir), r"rstream\.aio\.work_subscriber"


@pytest.mark.anyio
async def test_an_async_for_over_a_face_that_blocks_says_so(driver_dir, name):
    for face, instead in blocking_faces(name, driver_dir):
        with face, pytest.raises(TypeError, match=rf"^async for: this .*{instead}\(.*, and `for`$"):
            async for _ in face:
                pass
    with work.publisher(name, dir=driver_dir) as jobs:
        with pytest.raises(TypeError, match=r"^async with: .*rstream\.aio\.work_publisher\("):
            async with jobs:
                pass


@pytest.mark.anyio
async def test_a_for_over_what_is_awaited_says_so(driver_dir, name):
    async with (
        aio.subscriber(name, dir=driver_dir) as sub,
        aio.work_subscriber(name, dir=driver_dir) as jobs,
        aio.requester(name, dir=driver_dir) as asks,
    ):
        for face in (sub, sub.batches(), jobs, asks.request_stream(1)):
            with pytest.raises(TypeError, match=r"^for: the items of this .* write `async for`$"):
                for _ in face:
                    pass
