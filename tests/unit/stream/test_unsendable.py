"""What cannot be sent is a CodecError that says what it is, where it was to go and what to do.

In a list it also says which one; the objects before it were sent and are counted.
"""

from __future__ import annotations

import array
import re

import pytest

from rstream import codecs, stream
from rstream.errors import ClosedError, CodecError
from rstream.rate import Fixed
from tests.support import until

#: A buffer of every second byte.
HOLES = memoryview(b"abcd")[::2]
RAW_REFUSALS = [
    ("text", r"codec raw cannot send str: .*; send text.encode\(\)"),
    (7, r"codec raw cannot send int: .*; give both ends another codec"),
    (HOLES, r"codec raw cannot send memoryview: .*; send a contiguous copy: its tobytes\(\)"),
]


class Own:
    """A codec of a user."""

    codec_id = codecs.USER_CODEC_ID

    def encode(self, obj):
        return obj() if callable(obj) else obj

    def decode_many(self, messages):
        return list(messages)


@pytest.fixture
def pair(driver_dir, name):
    """A reader, and publishers to it by codec."""
    opened = []

    def open_pair(codec, **options):
        sub = stream.subscriber(name, codec=codec, dir=driver_dir)
        pub = stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0, **options)
        opened.extend((sub, pub))
        return pub, sub

    yield open_pair
    for one in reversed(opened):
        one.close()


def place(pub):
    return re.escape(f"stream {pub.name!r} ({pub.stream_id}) on aeron:ipc")


@pytest.mark.parametrize(("obj", "text"), RAW_REFUSALS)
@pytest.mark.parametrize("call", ["send", "offer"])
def test_an_object_without_bytes_is_an_error_of_the_codec(pair, call, obj, text):
    pub, _ = pair("raw")
    with pytest.raises(CodecError, match=f"{place(pub)}.*{text}") as caught:
        getattr(pub, call)(obj)
    assert isinstance(caught.value.__cause__, (TypeError, BufferError))
    assert pub.statistics()["messages"] == 0


@pytest.mark.parametrize("call", ["send", "offer"])
def test_an_array_with_holes_is_one_too(pair, call):
    np = pytest.importorskip("numpy")
    pub, sub = pair("raw")
    with pytest.raises(CodecError, match=f"{place(pub)}.*cannot send ndarray.*tobytes"):
        getattr(pub, call)(np.arange(8)[::2])
    pub.send(np.arange(8, dtype="u1"))
    assert until(sub.poll) == [bytes(range(8))]


@pytest.mark.parametrize("call", ["send", "offer"])
def test_what_a_codec_refuses_gets_its_place(pair, call):
    pub, _ = pair("msgpack")
    with pytest.raises(CodecError, match=f"{place(pub)}.*: object cannot be .*; send dicts, lists"):
        getattr(pub, call)(object())


@pytest.mark.parametrize("call", ["send", "offer"])
@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (lambda: {}["x"], r"function cannot be encoded: KeyError\('x'\); send what"),
        ("text", r"encode\(\) of codec Own \(id 128\) returned str: .*; it must return bytes or"),
        ([b"a", 7, b"c"], r"encode\(\) of codec Own \(id 128\) returned int: .*; it must"),
    ],
)
def test_a_codec_of_a_user_that_raises_or_returns_no_bytes(pair, call, obj, text):
    pub, _ = pair(Own())
    with pytest.raises(CodecError, match=f"{place(pub)}.*: {text}"):
        getattr(pub, call)(obj)


@pytest.mark.parametrize(("obj", "text"), RAW_REFUSALS)
@pytest.mark.parametrize("make", [list, iter])
@pytest.mark.parametrize("has_bucket", [False, True])
def test_the_objects_before_a_bad_one_are_sent_and_counted(
    pair, obj, text, make, has_bucket, monkeypatch
):
    """A publisher with a bucket, as beside Aeron's driver, sends a list object by object."""
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", has_bucket)
    pub, sub = pair("raw", rate=Fixed("1GB/s"))
    good = [bytes([n % 251]) * 3 for n in range(300)]
    with pytest.raises(CodecError, match=f"{place(pub)}.*it is object 300, .*; "):
        pub.send_many(make([*good, obj, b"never"]))
    assert pub.statistics()["messages"] == 300
    received = []
    until(lambda: received.extend(sub.poll()) or len(received) == 300)
    assert received == good
    assert pub.wait_consumed(timeout_s=10)
    assert pub.statistics()["consumed_position"] == pub.position


@pytest.mark.parametrize("bad", [[b"a", 7], lambda: {}["x"]])
def test_a_list_of_messages_in_parts_names_the_bad_one(pair, bad):
    pub, sub = pair(Own())
    with pytest.raises(CodecError, match=f"{place(pub)}.*it is object 2, "):
        pub.send_many([[b"a", b"b"], array.array("B", b"cd"), bad, b"e"])
    assert pub.statistics()["messages"] == 2
    received = []
    until(lambda: received.extend(sub.poll()) or len(received) == 2)
    assert received == [b"ab", b"cd"]


def test_an_error_of_the_iterable_is_not_taken_for_one_of_an_object(pair):
    pub, _ = pair("raw")
    theirs = CodecError("of another stream")

    def broken():
        yield b"a"
        raise theirs

    with pytest.raises(CodecError) as caught:
        pub.send_many(broken())
    assert caught.value is theirs
    assert str(theirs) == "of another stream"


def test_a_closed_publisher_says_that_it_is_closed(pair):
    pub, _ = pair("raw")
    pub.close()
    with pytest.raises(ClosedError):
        pub.offer("text")
    with pytest.raises(ClosedError):
        pub.send("text")
