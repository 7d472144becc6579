"""``rcv_wnd``, ``cc`` and ``mtu`` by name, over loopback: what the drivers make of them."""

from __future__ import annotations

import anyio
import pytest

import rstream
from rstream import aio, metrics
from tests.support import free_port


def test_a_stream_with_options_by_name(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    options = {"channel": channel, "dir": driver_dir}
    with (
        rstream.Driver(dir=driver_dir),
        rstream.subscriber("named", rcv_wnd="64k", cc="static", **options) as sub,
        rstream.publisher("named", cc="path", mtu=4096, **options) as pub,
    ):
        pub.send(b"x")
        assert next(iter(sub)) == b"x"
        (published,) = metrics.publications(driver_dir)
        assert published.path is not None
        assert "mtu=4096" in published.channel
        assert published.slowest is not None
        assert published.slowest.window_bytes == 64 * 1024
        (read,) = metrics.images(driver_dir)
        assert "rcv-wnd=65536|cc=static" in read.channel


def test_a_stream_of_event_loops(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"

    async def talk() -> None:
        async with (
            aio.subscriber("looped", channel=channel, rcv_wnd=65536, dir=driver_dir) as sub,
            aio.publisher("looped", channel=channel, cc="path", dir=driver_dir) as pub,
        ):
            await pub.send(b"x")
            async for item in sub:
                assert item == b"x"
                break
            (published,) = metrics.publications(driver_dir)
            assert published.path is not None
            (read,) = metrics.images(driver_dir)
            assert "rcv-wnd=65536" in read.channel

    with rstream.Driver(dir=driver_dir):
        anyio.run(talk)


def test_an_endpoint_of_ray_gives_them_to_its_handle(driver_dir: str) -> None:
    pytest.importorskip("ray")
    import rstream.ray as on_ray

    with rstream.Driver(dir=driver_dir):
        with on_ray.reader(dir=driver_dir, host="127.0.0.1", cc="path", mtu="4k") as end:
            assert "|cc=path|mtu=4096" in end.handle.udp_channel
            assert "cc=" not in end.handle.ipc_channel
            (waits, local) = sorted(one.channel for one in metrics.subscriptions(driver_dir))[::-1]
            assert "rcv-wnd" not in waits  # as wide as the driver says
            assert local.startswith("aeron:ipc")
        with on_ray.reader(dir=driver_dir, host="127.0.0.1", cc="auto", rcv_wnd="256k") as end:
            assert "|cc=static" in end.handle.udp_channel
            found = [one.channel for one in metrics.subscriptions(driver_dir)]
            assert any("rcv-wnd=262144|" in one and "cc=auto" in one for one in found)
