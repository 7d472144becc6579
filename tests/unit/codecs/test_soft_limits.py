"""What a signal handler raises in the middle of a codec is no error of the codec."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import rstream
from rstream import codecs, stream


class Limit(Exception):
    """As the soft limits of time of task queues: an Exception, raised by a handler."""


def limit(*_: object) -> None:
    raise Limit


class Limiter:
    def on_signal(self, *_: object) -> None:
        limit()

    def __call__(self, *_: object) -> None:
        limit()


HANDLERS: dict[str, Callable[..., None]] = {
    "function": limit,
    "method": Limiter().on_signal,
    "object": Limiter(),
    "partial": functools.partial(limit, "soft"),
}


@pytest.fixture(params=HANDLERS)
def handled(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


def hit(*_: object) -> Any:
    signal.raise_signal(signal.SIGUSR1)
    return 0


class Other:
    """Only the hook of the codec can send it."""


class Pickled:
    def __reduce__(self) -> Any:
        return hit, ()


@pytest.mark.usefixtures("handled")
def test_encoding() -> None:
    codec = codecs.msgpack(enc_hook=hit)
    for obj in (Other(), {"a": [Other()]}):
        with pytest.raises(Limit):
            codec.encode(obj)


@pytest.mark.usefixtures("handled")
def test_decoding() -> None:
    pickle = codecs.pickle(trusted=True)
    data = pickle.encode(Pickled())
    with pytest.raises(Limit):
        pickle.decode_many([data if isinstance(data, bytes) else b"".join(data)])
    arrow = pytest.importorskip("pyarrow") and codecs.arrow()
    encoded = arrow.encode(__import__("pyarrow").table({"a": [1]}))
    whole = b"".join(encoded if isinstance(encoded, list) else [encoded])
    arrow._make = hit  # type: ignore[attr-defined]
    with pytest.raises(Limit):
        arrow.decode_many([whole])


@dataclass
class Reading:
    value: int


@pytest.mark.usefixtures("handled")
def test_a_reader_goes_on_behind_a_limit(driver_dir: str, name: str) -> None:
    calls = 0

    def hook(type_: type, obj: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            hit()
        return type_(obj)

    class Celsius:
        def __init__(self, value: float) -> None:
            self.value = value

    sends = codecs.msgpack(enc_hook=lambda obj: obj.value)
    reads = codecs.msgpack(Celsius, dec_hook=hook)
    with (
        stream.publisher(name, codec=sends, dir=driver_dir, linger_s=0) as pub,
        rstream.subscriber(name, codec=reads, dir=driver_dir) as sub,
    ):
        pub.send_many([Celsius(float(number)) for number in range(3)])
        with pytest.raises(Limit):
            while True:
                sub.get(timeout_s=5)
        got = [sub.get(timeout_s=5).value for _ in range(3)]
        assert got == [0.0, 1.0, 2.0]
        assert sub.statistics()["refused"] == 0


def test_what_the_package_raises_itself_asks_for_no_handler(
    driver_dir: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array in a dict makes the quick way raise each time; to ask takes as long as a copy."""
    numpy = pytest.importorskip("numpy")
    message = {"obs": numpy.ones(4)}
    monkeypatch.setattr(signal, "valid_signals", lambda: pytest.fail("all handlers were looked at"))
    codecs.msgpack().encode(message)
    with (
        stream.subscriber(name, dir=driver_dir) as reader,
        stream.publisher(name, dir=driver_dir) as publisher,
    ):
        publisher.send(message, timeout_s=20)
        assert list(reader.get(timeout_s=20)["obs"]) == [1.0] * 4
