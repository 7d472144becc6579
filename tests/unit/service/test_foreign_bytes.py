"""What is no message of a caller or of a server harms neither of them."""

from __future__ import annotations

import random
import struct

import rstream
from rstream import service, stream
from rstream.service._calls import Calls
from rstream.service._place import place_of
from rstream.service._wire import HEAD, MessageKind
from tests.support import until


def nonsense(rng):
    """Random bytes, some of which begin like a message."""
    data = rng.randbytes(rng.randrange(60))
    if rng.random() < 0.7:
        port = rng.choice((0, 0, 9, 65535))
        head = HEAD.pack(
            rng.randrange(12), rng.randrange(256), port, rng.randrange(-9, 9), rng.randrange(5), 1
        )
        data = head[: rng.randrange(HEAD.size + 1)] if rng.random() < 0.3 else head + data
    return data


def test_a_server_survives_nonsense(driver_dir, name, request):
    seed = random.randrange(1 << 32)
    print(f"RSTREAM_SEED={seed}")
    rng = random.Random(seed)
    with rstream.serve(name, dir=driver_dir)(lambda n: n + 1) as served:
        with stream.publisher(place_of(name, None).ask_name, bytes, dir=driver_dir) as pub:
            for _ in range(300):
                pub.send(nonsense(rng))
        with service.requester(name, dir=driver_dir) as asks:
            assert asks.request(1) == 2
        until(lambda: served.statistics()["refused"] > 0)


def test_a_caller_survives_nonsense(driver_dir, name):
    rng = random.Random(27)
    calls = Calls("service", "aeron:ipc", 4)
    call = calls.add(is_stream=False)
    for _ in range(3000):
        data = nonsense(rng)
        if struct.pack("<Q", call.call_id) not in data:
            calls.on_message(data)
    assert not call.is_over
    calls.on_message(HEAD.pack(MessageKind.FAIL, 0, 0, 0, call.call_id, 0) + b"\xff\0\xff")
    assert call.is_over
    assert call.error is not None


def test_a_stranger_over_udp_gets_no_answer_elsewhere(driver_dir, name):
    """Answers go only to a host from which a session comes, whatever a message says."""
    from rstream._session import acquire
    from rstream.service._server_line import ServerLine
    from tests.support import free_port

    place = place_of(name, f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    line = ServerLine(place, 16).open(acquire(driver_dir))
    try:
        with stream.publisher(place.ask_name, bytes, channel=place.channel, dir=driver_dir) as pub:
            host = b"10.1.2.3"
            head = HEAD.pack(MessageKind.ASK, 2, 4000, -5, 1, 0)
            pub.send(head + bytes([len(host)]) + host + b"\x01")
            until(lambda: line.take() or line.refused)
            assert line.refused == 1
            assert not line.callers
            own = b"127.0.0.1"
            pub.send(head + bytes([len(own)]) + own + b"\x01")
            until(lambda: line.take() or line.new)
            assert len(line.callers) == 1
    finally:
        line.close(0)


def test_one_host_does_not_fill_a_service(driver_dir, name, caplog):
    """Each caller over UDP has a publication for its answers, so an address has a share."""
    from rstream import metrics
    from rstream._session import acquire
    from rstream.service._server_line import ServerLine
    from tests.support import free_port

    place = place_of(name, f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    line = ServerLine(place, 16, callers_per_host=3).open(acquire(driver_dir))
    try:
        with stream.publisher(place.ask_name, bytes, channel=place.channel, dir=driver_dir) as pub:
            before = len(metrics.counters(driver_dir))
            for number in range(20):
                head = HEAD.pack(MessageKind.ASK, 2, 4000 + number, -5, 1, 0)
                pub.send(head + bytes([9]) + b"127.0.0.1" + b"\x01")
            until(lambda: line.take() < 0 or line.refused == 17)
            assert len(line.callers) == 3
            assert len(metrics.counters(driver_dir)) < before + 60  # of 20 callers: 260
            answers = next(iter(line.callers.values())).answers
            assert "term-length=256k" in answers.channel
            # An address that is served less still finds a place.
            line._sources[99] = "127.0.0.2"
            head = HEAD.pack(MessageKind.ASK, 2, 4000, -5, 1, 0)
            pub.send(head + bytes([9]) + b"127.0.0.2" + b"\x01")
            until(lambda: line.take() or len(line.callers) == 4)
            assert len(line.callers) == 4
    finally:
        line.close(0)
    (said,) = [text for text in caplog.messages if "refused a caller" in text]
    assert "3 callers of that address are served already (callers_per_host=)" in said
