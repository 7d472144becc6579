"""The codec of a Ray endpoint: a name, a type or an object. A handle names it where it can."""

from __future__ import annotations

import msgspec
import pytest

from rstream import codecs, ray
from rstream.errors import ConfigError


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


class Tick(msgspec.Struct):
    px: float


class Text:
    codec_id = codecs.USER_CODEC_ID

    def encode(self, obj):
        return obj.encode()

    def decode_many(self, messages):
        return [message.decode() for message in messages]


@pytest.mark.parametrize(
    ("codec", "name_in_handle", "for_writer", "item"),
    [
        ("raw", "raw", None, b"x"),
        (Tick, "msgpack", None, Tick(1.0)),
        (codecs.raw(), "raw", codecs.raw(), b"x"),
        (Text(), "id 128", Text(), "x"),
    ],
    ids=["name", "type", "object", "own"],
)
def test_a_codec_by_name_by_type_or_as_an_object(
    driver_dir, name, codec, name_in_handle, for_writer, item
):
    end = ray.reader(name, codec=codec, dir=driver_dir, udp=False)
    try:
        handle = ray.StreamHandle.from_text(end.handle.to_text())
        assert handle.codec == name_in_handle
        with handle.publisher(codec=for_writer, linger_s=0) as pub:
            pub.send(item)
            assert end.source.get(timeout_s=10) == item
    finally:
        end.close()


def test_a_writer_without_the_readers_codec_is_refused(driver_dir, name):
    end = ray.reader(name, codec=Text(), dir=driver_dir, udp=False)
    try:
        with pytest.raises(ConfigError, match="codec of its own"):
            end.handle.publisher()
        with pytest.raises(ConfigError, match=r"raw \(id 1\), the reader .*user codec \(id 128\)"):
            end.handle.publisher(codec="raw")
    finally:
        end.close()
