"""type= and codec= mean the same on every face: what one face sends, each other one reads."""

from __future__ import annotations

import asyncio
import threading

import msgspec
import pytest

import rstream
from rstream import codecs, ray, stream
from rstream.errors import CodecError, ConfigError
from tests.support import free_port, until

np = pytest.importorskip("numpy")
npt = pytest.importorskip("numpy.typing")
pa = pytest.importorskip("pyarrow")


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


ARRAY = np.arange(6, dtype=">f4").reshape(2, 3)
TABLE = pa.table({"px": [1.0, 2.0]})

CHOICES = {
    "array by type": ({"type": np.ndarray}, ARRAY),
    "array by dtype": ({"type": npt.NDArray[np.float64]}, np.ones(3)),
    "array by name": ({"codec": "numpy"}, ARRAY),
    "array by codec=type": ({"codec": np.ndarray}, ARRAY),
    "array by object": ({"codec": codecs.numpy(">f4", (2, -1))}, ARRAY),
    "table by type": ({"type": pa.Table}, TABLE),
    "table by name and type": ({"type": pa.Table, "codec": "arrow"}, TABLE),
    "table by codec=type": ({"codec": pa.Table}, TABLE),
    "batch by name": ({"codec": "arrow"}, pa.record_batch({"px": [1.0, 2.0]})),
    "arrays in a dict": ({}, {"obs": ARRAY, "more": [np.ones(100_000), "x"], "table": TABLE}),
    "arrays in a pickle": (
        {"codec": codecs.pickle(trusted=True)},
        {"obs": ARRAY, "more": [np.ones(100_000), {1}]},
    ),
}
choices = pytest.mark.parametrize(("arguments", "item"), CHOICES.values(), ids=CHOICES)


def assert_is(got, item):
    assert type(got) is type(item)
    if isinstance(item, dict | list):
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, value in pairs:
            assert_is(got[key], value)
    elif isinstance(item, np.ndarray):
        assert (got.dtype, got.tolist()) == (item.dtype, item.tolist())
    else:
        assert got == item


@choices
def test_publisher_and_subscriber(driver_dir, name, arguments, item):
    with (
        rstream.subscriber(name, dir=driver_dir, **arguments) as sub,
        rstream.publisher(name, dir=driver_dir, linger_s=0, **arguments) as pub,
    ):
        pub.send(item)
        pub.send_many([item, item])
        for _ in range(3):
            assert_is(sub.get(timeout_s=10), item)


@choices
def test_a_reader_and_an_async_publisher(driver_dir, name, arguments, item):
    pytest.importorskip("anyio")

    async def send():
        async with rstream.aio.publisher(name, dir=driver_dir, linger_s=0, **arguments) as pub:
            await pub.send(item)
            await pub.send_many([item, item])
            await asyncio.to_thread(lambda: [assert_is(sub.get(timeout_s=10), item)] * 3)

    with stream.reader(name, dir=driver_dir, **arguments) as sub:
        asyncio.run(send())


@choices
def test_rx_from_and_to_a_stream(driver_dir, name, arguments, item):
    rx = pytest.importorskip("rstream.rx")
    reactivex = pytest.importorskip("reactivex")
    got, ended = [], threading.Event()
    rx.from_stream(name, dir=driver_dir, **arguments).subscribe(
        got.append, on_completed=ended.set, on_error=lambda error: got.append(error)
    )
    reactivex.of(item, item).pipe(rx.to_stream(name, dir=driver_dir, **arguments)).run()
    assert ended.wait(10)
    assert len(got) == 2
    for each in got:
        assert_is(each, item)


@choices
def test_a_ray_endpoint_and_the_writers_of_its_handle(driver_dir, name, arguments, item):
    end = ray.reader(name, dir=driver_dir, udp=False, **arguments)
    try:
        handle = ray.StreamHandle.from_text(end.handle.to_text())
        names = {3: "arrow", 4: "numpy", 2: "msgpack", 5: "pickle"}
        assert (
            handle.codec
            == names[codecs.choose(**{"type": None, "codec": None} | arguments).codec_id]
        )
        for given in ({}, arguments):
            with handle.publisher(linger_s=0, **given) as pub:
                pub.send(item)
                assert_is(end.source.get(timeout_s=10), item)
    finally:
        end.close()


def test_a_100_000_float_array_in_ray_without_a_word_about_it(driver_dir, name):
    """The complaint: arrays of this size between actors need the object store, or pickle."""
    end = ray.reader(name, np.ndarray, dir=driver_dir, udp=False)
    got = []
    end.start(got.append)
    arrays = np.random.default_rng(7).random((3, 100_000))
    with end.handle.publisher() as pub:
        pub.send_many(list(arrays), timeout_s=10)
    end.finish()
    end.close()
    assert np.array_equal(got, arrays)


def test_a_handle_refuses_a_writer_of_another_kind(driver_dir, name):
    end = ray.reader(name, np.ndarray, dir=driver_dir, udp=False)
    try:
        with pytest.raises(
            ConfigError, match=r"type=Table is arrow \(id 3\), the reader .*numpy \(id 4\)"
        ):
            end.handle.publisher(pa.Table)
    finally:
        end.close()


@pytest.mark.parametrize(
    ("sends", "item", "reads", "text"),
    [
        (np.ndarray, ARRAY, pa.Table, r"codec numpy \(id 4\), this reader has arrow \(id 3\)"),
        (None, {"px": 1.0}, np.ndarray, r"codec msgpack \(id 2\), this reader has numpy \(id 4\)"),
        (
            np.ndarray,
            ARRAY,
            npt.NDArray[np.int8],
            r"array of >f4 \(2, 3\), this reader expects int8",
        ),
    ],
    ids=["table", "array", "dtype"],
)
def test_the_first_message_of_another_kind_is_an_error_that_shows_both_sides(
    driver_dir, name, sends, item, reads, text
):
    with (
        rstream.subscriber(name, reads, dir=driver_dir) as sub,
        rstream.publisher(name, sends, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(item)
        with pytest.raises(CodecError, match=text):
            until(lambda: sub.poll())


class Tick(msgspec.Struct):
    px: float


class BigTick(Tick):
    size: int = 0


def test_an_object_of_another_class_is_an_error_at_send_and_nothing_of_it_arrives(driver_dir, name):
    text = r"stream .*: expected Tick, got dict: {'px': 1.0}; send what the publisher was opened"
    with (
        rstream.subscriber(name, Tick, dir=driver_dir) as sub,
        rstream.publisher(name, Tick, dir=driver_dir, linger_s=0) as pub,
    ):
        for number in range(3):  # the first message takes the long way in any case
            pub.send(Tick(number))
            pub.send(BigTick(number, 1))
            for send in (pub.send, pub.offer):
                with pytest.raises(CodecError, match=text):
                    send({"px": 1.0})
            with pytest.raises(CodecError, match=r"expected Tick, got int.*it is object 1"):
                pub.send_many([Tick(number), 5])
        assert [sub.get(timeout_s=10) for _ in range(9)] == [
            Tick(number) for number in range(3) for _ in range(3)
        ]


def test_an_object_of_another_class_is_an_error_on_the_other_faces(driver_dir, name):
    pytest.importorskip("anyio")

    async def send():
        async with rstream.aio.publisher(name, Tick, dir=driver_dir, linger_s=0) as pub:
            await pub.send(Tick(1.0))
            for call in (pub.send({}), pub.send_many([{}])):
                with pytest.raises(CodecError, match="expected Tick, got dict"):
                    await call

    with stream.reader(name, Tick, dir=driver_dir):
        asyncio.run(send())
    with rstream.work.publisher(f"{name}-work", Tick, dir=driver_dir) as pub:
        with pytest.raises(CodecError, match="expected Tick, got dict"):
            pub.offer({})


STEP = CHOICES["arrays in a dict"][1]


def test_a_service_takes_and_answers_arrays_in_a_dict(driver_dir, name):
    @rstream.serve(name, dir=driver_dir)
    def double(step):
        assert_is(step, STEP)
        return {"obs": step["obs"] * 2, "same": step}

    @rstream.serve(f"{name}-many", dir=driver_dir)
    def numbers(step):
        yield from step["more"]

    with double, numbers:
        answer = rstream.request(name, STEP, timeout_s=10, dir=driver_dir)
        assert_is(answer["same"], STEP)
        assert answer["obs"].tolist() == (ARRAY * 2).tolist()
        answers = list(rstream.request_stream(f"{name}-many", STEP, dir=driver_dir))
        assert_is(answers, STEP["more"])


def test_shared_work_has_arrays_in_a_dict(driver_dir, name):
    with (
        rstream.work.subscriber(name, dir=driver_dir) as sub,
        rstream.work.publisher(name, dir=driver_dir) as pub,
    ):
        pub.send(STEP)
        job = sub.get(timeout_s=10)
        assert_is(job.item, STEP)
        job.ack()
        assert pub.wait_acknowledged(timeout_s=10)


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("view", [False, True], ids=["owned", "view"])
def test_large_arrays_in_a_dict(driver_dir, name, medium, view):
    """Frames, parts and segments; a view of a segment lies in the memory of all readers."""
    options = {"dir": driver_dir}
    if medium == "udp":
        options["channel"] = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    items = [{"a": np.arange(n, dtype="u1"), "n": n} for n in (10, 5000, 100_000, 1_000_000)]
    with (
        rstream.subscriber(name, codec=codecs.msgpack(view=view), **options) as sub,
        rstream.publisher(name, **options) as pub,
    ):
        sending = threading.Thread(target=pub.send_many, args=(items * 3,))
        sending.start()
        for item in items * 3:
            got = sub.get(timeout_s=10)
            assert_is(got, item)
            assert not got["a"].flags.writeable
            assert got["a"].ctypes.data % 16 == 0
            del got
        sending.join(10)
        assert pub.wait_consumed(timeout_s=10)


def test_the_readers_of_one_host_have_one_copy(driver_dir, name):
    with (
        rstream.subscriber(name, codec=codecs.msgpack(view=True), dir=driver_dir) as first,
        rstream.subscriber(name, codec=codecs.msgpack(view=True), dir=driver_dir) as second,
        rstream.publisher(name, dir=driver_dir, wait_for=2) as pub,
    ):
        pub.send({"a": np.ones(1_000_000)})
        arrays = [sub.get(timeout_s=10)["a"] for sub in (first, second)]
        assert np.shares_memory(*arrays)
        del arrays
        assert pub.wait_consumed(timeout_s=10)


def test_a_message_that_cannot_be_decoded_holds_no_view(driver_dir, name):
    with (
        rstream.subscriber(
            name,
            codec=codecs.msgpack(dict[str, npt.NDArray[np.float32]], view=True),
            dir=driver_dir,
        ) as sub,
        rstream.publisher(name, dir=driver_dir) as pub,
    ):
        for dtype in ("f8", "f4"):
            pub.send({"a": np.ones(100_000, dtype)})
        with pytest.raises(CodecError, match="array of float64, this reader expects float32"):
            until(lambda: sub.poll())
        until(lambda: sub.poll())
        sub.poll()
        assert sub.statistics()["view_bytes"] == 0


@pytest.mark.parametrize("face", ["stream", "aio", "rx", "ray"])
def test_limits_reach_the_codec_on_each_face(face, driver_dir, name):
    """A table of nulls has more rows than bytes."""
    limits = codecs.Limits(rows=1000)
    options = {"codec": "arrow", "dir": driver_dir, "limits": limits}
    nulls = pa.table({"n": pa.nulls(5000)})
    text = "5000 rows or elements"
    if face == "ray":
        end = ray.reader(**options, udp=False, on_lost="raise")
        try:
            with end.handle.publisher(linger_s=0) as pub:
                pub.send(nulls)
                with pytest.raises(CodecError, match=text):
                    end.source.get(timeout_s=10)
        finally:
            end.close()
        return
    with rstream.publisher(name, codec="arrow", dir=driver_dir, linger_s=0) as pub:
        if face == "stream":
            with rstream.subscriber(name, **options) as sub:
                pub.send(nulls)
                with pytest.raises(CodecError, match=text):
                    sub.get(timeout_s=10)
        elif face == "aio":

            async def read():
                async with rstream.aio.subscriber(name, **options) as sub:
                    pub.send(nulls)
                    with pytest.raises(CodecError, match=text):
                        await sub.get(timeout_s=10)

            asyncio.run(read())
        else:
            rx = pytest.importorskip("rstream.rx")
            errors = []
            heard = threading.Event()
            with rx.from_stream(name, **options).subscribe(
                on_error=lambda error: (errors.append(error), heard.set())
            ):
                pub.send(nulls)
                assert heard.wait(10)
            assert text in str(errors[0])
