"""What goes to another process by pickle, and what says why it does not."""

from __future__ import annotations

import pickle

import msgspec
import numpy
import pyarrow
import pytest

import rstream
from rstream import codecs, service, stream
from rstream.errors import CodecError


class Tick(msgspec.Struct):
    px: float


SCHEMA = pyarrow.schema([("px", pyarrow.float64())])


def joined(encoded):
    return b"".join(encoded) if isinstance(encoded, list) else bytes(encoded)


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        (codecs.raw(), b"abc"),
        (codecs.msgpack(), {"px": [1, 2]}),
        (codecs.msgpack(Tick), Tick(1.5)),
        (codecs.msgpack(list[Tick]), [Tick(1.5)]),
        (codecs.pickle(trusted=True), {1, 2}),
        (codecs.numpy("f4", (2,)), numpy.array([1, 2], "f4")),
        (codecs.arrow(), pyarrow.record_batch({"px": [1.0]})),
        (codecs.arrow(pyarrow.Table, schema=SCHEMA), pyarrow.table({"px": [1.0]}, SCHEMA)),
    ],
)
def test_a_codec_works_where_it_is_unpickled(codec, value):
    copy = pickle.loads(pickle.dumps(codec))
    assert copy.codec_id == codec.codec_id
    for writer, reader in ((codec, copy), (copy, codec)):
        (found,) = reader.decode_many([joined(writer.encode(value))])
        assert type(found) is type(value)
        assert numpy.array_equal(found, value) if codec.codec_id == 4 else found == value


def test_the_options_of_a_codec_travel():
    copy = pickle.loads(pickle.dumps(codecs.numpy("f4", (2,), view=True)))
    assert copy.takes_views
    with pytest.raises(CodecError, match=r"numpy codec of float32 \(2,\) cannot send"):
        copy.encode(numpy.zeros(3))
    assert pickle.loads(pickle.dumps(codecs.numpy(writable=True)))._is_writable
    assert pickle.loads(pickle.dumps(codecs.arrow(view=True))).takes_views
    for trusts in (False, True):
        one = codecs.pickle(trusted=True, trusted_network=trusts)
        assert pickle.loads(pickle.dumps(one)).needs_trusted_network is not trusts


def test_what_belongs_to_its_process_says_what_to_do_instead(module_driver_dir):
    asks = service.requester("prices", dir=module_driver_dir)
    with rstream.Client(dir=module_driver_dir) as client:
        for one, instead in (
            (client, "make one there, with the same dir"),
            (client.add_publication("aeron:ipc", 5), "pass channel and stream id"),
            (rstream.serve("prices", dir=module_driver_dir)(str), "pass its name to callers"),
            (asks, "make a requester there"),
            (rstream.aio.requester("prices"), "make a requester there"),
            (stream.source("ticks"), "pass the stream's name, and make a source there"),
            (rstream.aio.subscriber("ticks"), "open one there"),
        ):
            with pytest.raises(TypeError, match=f"belongs to its process.*: .*{instead}"):
                pickle.dumps(one)
