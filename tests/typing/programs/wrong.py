# pyright: strict
"""Mistakes of a user, one for each face. Type checkers report the marked lines and no others."""

from __future__ import annotations

import msgspec
import reactivex

import rstream
from rstream import abc, codecs, rx


class Tick(msgspec.Struct):
    px: float


def threads() -> None:
    with rstream.publisher("ticks", Tick) as pub:
        pub.send("1.0")  # wrong
        pub.sned(Tick(1.0))  # wrong
    with rstream.subscriber("ticks", Tick | None) as sub:
        tick = sub.get()
        print(tick.px)  # wrong
    rstream.publisher("ticks", Tick, conect_timeout_s=1.0)  # wrong
    rstream.subscriber("ticks", 5)  # wrong
    rstream.subscriber("ticks", Tick, stays="yes")  # wrong
    rstream.publisher("ticks", Tick, codec=codecs.raw())  # wrong


def reactive_streams(bytes_subscriber: abc.Subscriber[bytes]) -> None:
    rstream.stream.source("ticks", Tick).subscribe(bytes_subscriber)  # wrong


async def asyncio_or_trio() -> None:
    async with rstream.aio.publisher("ticks", Tick) as pub:
        await pub.send(b"1.0")  # wrong
    rstream.aio.publsher("ticks")  # wrong


def rxpy() -> reactivex.Observable[str]:
    return rx.from_stream("ticks", Tick)  # wrong


def rxpy_with_demand(ticks: reactivex.Observable[Tick]) -> abc.Publisher[str]:
    rx.from_stream("ticks", Tick, batches=True).subscribe(lambda tick: print(tick.px))  # wrong
    rx.on_backpressure_buffer(8, overflow="explode")  # wrong
    rx.observe_on_bounded(1000)  # wrong
    return ticks.pipe(rx.to_publisher())  # wrong


def ray_actors() -> None:
    end = rstream.ray.reader("ticks", prefetch="many")  # wrong
    end.handel.publisher()  # wrong


def spark_sink() -> None:
    rstream.spark.register("session")  # wrong
