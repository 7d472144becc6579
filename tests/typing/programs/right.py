# pyright: strict
"""A user's pipelines, one for each face. Type checkers accept them and infer these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import msgspec
import numpy as np
import numpy.typing as npt
import reactivex
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler

import rstream
from rstream import abc, codecs, policy, rx, stages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pyspark.sql import DataFrame, SparkSession


class Tick(msgspec.Struct):
    px: float


class TickSubscriber(abc.Subscriber[Tick]):
    def on_subscribe(self, subscription: abc.Subscription) -> None:
        subscription.request(1)

    def on_next(self, item: Tick) -> None:
        print(item.px)

    def on_error(self, error: Exception) -> None:
        print(error)

    def on_complete(self) -> None:
        print("complete")


def threads() -> None:
    with rstream.publisher("ticks", Tick, connect_timeout_s=None, wait_for=2) as pub:
        assert_type(pub, rstream.Publisher[Tick])
        pub.send(Tick(1.0))
        pub.send_many(Tick(px) for px in (1.0, 2.0))
        assert_type(pub.held_by, rstream.HeldBy | None)
    with rstream.subscriber("ticks", Tick, on_slow=policy.Latest()) as sub:
        assert_type(sub, rstream.Subscriber[Tick])
        assert_type(sub.get(timeout_s=1), Tick)
        try:
            for tick in sub:
                assert_type(tick, Tick)
        except rstream.PublisherLost as error:
            print(error.session_id)


def codecs_and_types(reader: rstream.Subscriber[Any]) -> None:
    with rstream.subscriber("ticks", Tick, stays=True) as lasting:
        assert_type(lasting, rstream.Subscriber[Tick])
    assert_type(rstream.subscriber("ticks", Tick | None), rstream.Subscriber[Tick | None])
    assert_type(rstream.subscriber("ticks", list[int]), rstream.Subscriber[list[int]])
    assert_type(rstream.publisher("blobs", codec=codecs.raw()), rstream.Publisher[bytes])
    assert_type(rstream.publisher("ticks", codec=Tick), rstream.Publisher[Tick])
    assert_type(rstream.publisher("ticks", Tick, codec="msgpack"), rstream.Publisher[Tick])
    assert_type(rstream.publisher("rows", codec="arrow"), rstream.Publisher[Any])
    frames = rstream.subscriber("frames", codec=codecs.numpy("f4", (-1, 3), view=True))
    assert_type(frames, rstream.Subscriber[npt.NDArray[Any]])
    assert_type(
        rstream.subscriber("frames", npt.NDArray[np.float32]),
        rstream.Subscriber[npt.NDArray[np.float32]],
    )
    assert_type(rstream.publisher("ticks"), rstream.Publisher[Any])


def reactive_streams() -> None:
    source = rstream.stream.source("ticks", Tick)
    assert_type(source, abc.Publisher[Tick])
    source.subscribe(TickSubscriber())
    source.subscribe(rstream.stream.sink("copy", Tick))


def stages_between() -> None:
    source = rstream.stream.source("ticks", Tick)

    def weight(tick: Tick) -> float:
        return tick.px

    batches = stages.pipe(source, stages.buffer(64), stages.batch(100), stages.checkpoint("here"))
    assert_type(batches, abc.Publisher[list[Tick]])
    assert_type(stages.throttle(10)(source), abc.Publisher[Tick])
    assert_type(stages.batch_weighted(10, weight)(source), abc.Publisher[list[Tick]])


def shared_work() -> None:
    with rstream.work.publisher("jobs", Tick) as jobs:
        assert_type(jobs, rstream.work.Publisher[Tick])
        jobs.send(Tick(1.0))
    with rstream.work.subscriber("jobs", Tick, prefetch=8) as todo:
        for job in todo:
            assert_type(job.item, Tick)
    assert_type(rstream.work.subscriber("jobs"), rstream.work.Subscriber[Any])


async def asyncio_or_trio() -> None:
    async with rstream.aio.publisher("ticks", Tick) as pub:
        assert_type(pub, rstream.aio.Publisher[Tick])
        assert_type(await pub.send(Tick(1.0)), int)
    async with rstream.aio.subscriber("ticks", Tick) as sub:
        assert_type(sub, rstream.aio.Subscriber[Tick])
        assert_type(await sub.get(), Tick)
        async for tick in sub:
            assert_type(tick, Tick)
        async for batch in sub.batches():
            assert_type(batch, list[Tick])


async def requests() -> None:
    @rstream.serve("prices")
    def price(symbol: str) -> float:
        return float(len(symbol))

    assert_type(price("ABC"), float)
    assert_type(rstream.request("prices", "ABC", float, timeout_s=1), float)
    for tick in rstream.request_stream("ticks", 5, Tick):
        assert_type(tick, Tick)
    assert_type(await rstream.aio.request("prices", "ABC", float), float)
    async for tick in rstream.aio.request_stream("ticks", 5, Tick):
        assert_type(tick, Tick)

    @rstream.errors.register
    class Unknown(Exception):
        pass

    assert_type(Unknown(), Unknown)


def rxpy() -> None:
    ticks = rx.from_stream("ticks", Tick)
    assert_type(ticks, reactivex.Observable[Tick])
    assert_type(rx.from_stream("ticks", Tick | None), reactivex.Observable[Tick | None])

    def price(tick: Tick) -> float:
        return tick.px

    sent = ticks.pipe(ops.map(price), rx.to_stream("prices"))
    assert_type(sent, reactivex.Observable[int])

    batches = rx.from_stream("ticks", Tick, batches=True, scheduler=EventLoopScheduler())
    assert_type(batches, reactivex.Observable[list[Tick]])


def rxpy_with_demand(source: abc.Publisher[Tick]) -> None:
    ticks = rx.from_publisher(source, prefetch=16)
    assert_type(ticks, reactivex.Observable[Tick])

    def symbol(tick: Tick) -> str:
        return str(tick.px)

    def score(tick: Tick) -> reactivex.Observable[float]:
        return reactivex.of(tick.px)

    bounded = ticks.pipe(
        rx.observe_on_bounded(EventLoopScheduler(), 1000),
        rx.limit_rate(256, 64),
        rx.on_backpressure_buffer(16, overflow="drop_oldest"),
        rx.on_backpressure_drop(),
        rx.on_backpressure_latest(key=symbol),
        rx.on_backpressure_error(8),
        rx.tee_stream("copy", Tick),
    )
    assert_type(bounded, reactivex.Observable[Tick])
    assert_type(bounded.pipe(rx.flat_map_bounded(score, 4)), reactivex.Observable[float])
    assert_type(bounded.pipe(rx.to_publisher(16)), abc.Publisher[Tick])


async def rxpy_and_event_loops(ticks: reactivex.Observable[Tick]) -> None:
    async for tick in ticks.pipe(rx.to_async_iterable(16)):
        assert_type(tick, Tick)

    async def numbers() -> AsyncIterator[int]:
        yield 1

    assert_type(rx.from_async_iterable(numbers()), reactivex.Observable[int])


def ray_actors() -> None:
    end = rstream.ray.reader("ticks")
    assert_type(end, rstream.ray.Endpoint)
    assert_type(end.handle, rstream.ray.StreamHandle)
    with end.handle.publisher() as pub:
        assert_type(pub, rstream.Publisher[Any])
        pub.send({"px": 1.0})


def spark_sink(spark: SparkSession, rows: DataFrame, handle: rstream.ray.StreamHandle) -> None:
    rstream.spark.register(spark)
    rows.writeStream.format("rstream").option("handles", handle.to_text()).start()
