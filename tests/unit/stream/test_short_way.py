"""send() and offer() take a short way in C; what is not usual there must go the long way."""

from __future__ import annotations

import gc
import inspect
import itertools
import threading
import weakref

import pytest

import rstream
from rstream import BACK_PRESSURED, RATE_LIMITED, codecs, stream
from rstream.errors import BackPressured, ClosedError, CodecError
from rstream.stream._internal import sending_of
from rstream.stream._sending import CONSUMED_EVERY
from tests.support import until


class Own:
    """A codec of a user, whose encode calls a function."""

    codec_id = codecs.USER_CODEC_ID

    def __init__(self):
        self.calls = 0

    def encode(self, obj):
        self.calls += 1
        return obj() if callable(obj) else obj

    def decode_many(self, messages):
        return list(messages)


@pytest.fixture
def codec():
    return Own()


@pytest.fixture
def sub(driver_dir, name, codec):
    with stream.subscriber(name, codec=codec, dir=driver_dir) as opened:
        yield opened


@pytest.fixture
def pub(driver_dir, name, codec, sub):
    with stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0) as opened:
        opened.send(b"first")
        assert sub.get(timeout_s=10) == b"first"
        codec.calls = 0
        yield opened


def test_positions_and_counts_are_those_of_the_long_way(pub, sub):
    before = pub.statistics()["messages"]
    positions = [pub.send(b"a"), pub.send(b"b", timeout_s=5), pub.send(obj=b"c"), pub.offer(b"d")]
    steps = [after - one for one, after in itertools.pairwise(positions)]
    assert steps == [64, 64, 64]  # a frame of 32 bytes and a message, up to the next 32
    assert pub.position == positions[-1]
    assert pub.statistics()["messages"] == before + 4
    assert [sub.get(timeout_s=10) for _ in range(4)] == [b"a", b"b", b"c", b"d"]


def test_its_arguments_are_checked(pub):
    for call, text in (
        (lambda: pub.send(), "missing 1 required positional argument: 'obj'"),
        (lambda: pub.send(b"a", 5), "takes 2 positional arguments but 3 were given"),
        (lambda: pub.send(b"a", timeout=5), "unexpected keyword argument 'timeout'"),
        (lambda: pub.offer(), "missing 1 required positional argument: 'obj'"),
        (lambda: pub.offer(b"a", timeout_s=5), "unexpected keyword argument 'timeout_s'"),
    ):
        with pytest.raises(TypeError, match=rf"Publisher\.(send|offer)\(\) .*{text}"):
            call()
    assert str(inspect.signature(stream.Publisher.send)) == "(self, /, obj, *, timeout_s=None)"
    assert str(inspect.signature(stream.Publisher.offer)) == "(self, /, obj)"


@pytest.mark.parametrize("data", [bytearray(b"xy"), memoryview(b"xy"), [b"x", b"y"]])
@pytest.mark.parametrize("method", ["send", "offer"])
def test_what_is_no_bytes_is_sent_all_the_same(pub, sub, data, method):
    assert getattr(pub, method)(data) > 0
    assert sub.get(timeout_s=10) == b"xy"


@pytest.mark.parametrize("method", ["send", "offer"])
def test_an_encoder_that_fails_is_called_once(pub, codec, method):
    def fail():
        raise ValueError("no more paper")

    with pytest.raises(CodecError, match="no more paper") as caught:
        getattr(pub, method)(fail)
    assert isinstance(caught.value.__cause__, ValueError)
    assert codec.calls == 1


def test_ctrl_c_in_an_encoder_leaves_the_publisher_usable(pub, sub):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pub.send(interrupt)
    other = threading.Thread(target=pub.send, args=(b"after",))  # it would wait for the lock
    other.start()
    assert sub.get(timeout_s=10) == b"after"
    other.join()


def test_an_encoder_that_closes_its_publisher(pub):
    def close():
        pub.close(linger_s=0)
        return b"late"

    with pytest.raises(ClosedError):
        pub.send(close)


def test_an_encoder_that_sends_itself(pub, sub):
    def send():
        pub.send(b"inner")
        return b"outer"

    pub.send(send)
    assert [sub.get(timeout_s=10) for _ in range(2)] == [b"inner", b"outer"]


def test_another_thread_waits_while_an_object_is_encoded(pub, sub):
    is_encoding, may_end = threading.Event(), threading.Event()

    def slow():
        is_encoding.set()
        assert may_end.wait(10)
        return b"slow"

    threads = [threading.Thread(target=pub.send, args=(slow,))]
    threads[0].start()
    assert is_encoding.wait(10)
    threads.append(threading.Thread(target=pub.send, args=(b"behind",)))
    threads[1].start()
    until(lambda: sending_of(pub).state.lock.is_contended)
    may_end.set()
    assert [sub.get(timeout_s=10) for _ in range(2)] == [b"slow", b"behind"]
    for thread in threads:
        thread.join()


def test_what_the_quick_encoder_refuses_is_encoded_with_care(pub, sub, codec):
    codec.quick_encode = lambda _obj: 1 / 0
    sending_of(pub).state.quick_encode = codec.quick_encode
    for method in (pub.send, pub.offer):
        assert method(b"with care") > 0
    assert [sub.get(timeout_s=10) for _ in range(2)] == [b"with care"] * 2


def test_a_quick_encoder_that_refuses_is_asked_again_now_and_then(pub, sub, codec):
    asked = []

    def refuse(obj):
        asked.append(obj)
        raise TypeError("it needs care")

    codec.quick_encode = sending_of(pub).state.quick_encode = refuse
    count = 2 * CONSUMED_EVERY
    for number in range(count):
        pub.send(b"%d" % number)
    assert 1 < len(asked) < 5
    codec.quick_encode = sending_of(pub).state.quick_encode = bytes
    for _ in range(CONSUMED_EVERY):
        pub.send(b"plain")
    assert sending_of(pub).state.quick_encode is bytes
    texts = [sub.get(timeout_s=10) for _ in range(count + CONSUMED_EVERY)]
    assert texts == [b"%d" % number for number in range(count)] + [b"plain"] * CONSUMED_EVERY


def test_an_offer_without_room_is_refused_and_not_counted(pub):
    data = bytes(1000)
    while (position := pub.offer(data)) > 0:
        reached, sent = position, pub.statistics()["messages"]
    # The law of rate may be the first to refuse, when nobody has taken anything for long.
    assert position in (BACK_PRESSURED, RATE_LIMITED)
    assert pub.position == reached
    assert pub.statistics()["messages"] == sent


def test_an_offer_keeps_the_rate(driver_dir, name):
    rate = rstream.rate.Fixed("10kB/s")
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, rate=rate, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(b"first")
        assert sub.get(timeout_s=10) == b"first"
        results = {pub.offer(bytes(1000)) for _ in range(500)}
    assert RATE_LIMITED in results


def test_no_room_is_told_after_the_time_given(pub):
    data = bytes(1000)
    with pytest.raises(BackPressured):
        while True:
            pub.send(data, timeout_s=0.05)


def test_a_class_of_the_user_may_send_in_its_own_way(pub, sub):
    class Louder(type(pub)):
        def send(self, obj, *, timeout_s=None):
            return super().send(obj.upper(), timeout_s=timeout_s)

    pub.__class__ = Louder
    pub.send(b"hush")
    assert sub.get(timeout_s=10) == b"HUSH"


def test_a_publisher_in_a_cycle_is_collected(driver_dir, name):
    codec = Own()
    codec.owner = pub = stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0)
    pub.close()
    gone = weakref.ref(pub)
    del pub, codec
    gc.collect()
    assert gone() is None


def test_fields_take_nothing_that_would_be_misread(pub):
    state = sending_of(pub).state
    for field in ("lock", "direct"):
        with pytest.raises(TypeError, match=r"takes an object of rstream\._core"):
            setattr(state, field, object())
    with pytest.raises(TypeError, match=r"takes a rstream\._core\.SendState"):
        pub._state = object()
    with pytest.raises(AttributeError, match="set once"):
        pub._state = state


def test_a_state_without_a_lock_has_no_short_way(pub):
    state = sending_of(pub).state
    state.lock, lock = None, state.lock
    calls = []
    pub._offer_slowly = calls.append
    assert pub.offer(b"x") is None
    assert calls == [b"x"]
    state.lock = lock
