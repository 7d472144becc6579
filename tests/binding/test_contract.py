"""The binding does what rstream/_core.pyi and rstream.client promise.

Results, reasons, limits and errors of bad arguments.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rstream import _core, errors
from rstream.channel import Channel
from rstream.client import BACK_PRESSURED, CLOSED, ERROR, NOT_CONNECTED, Client
from rstream.driver import Driver
from tests.binding._util import IPC, pair, receive, send, until


@pytest.mark.parametrize("channel", [IPC, "aeron:udp?endpoint=localhost:0"])
def test_messages_of_every_offer_method_arrive_in_order(client, channel):
    """N1."""
    publication, subscription = pair(client, channel=channel)
    send(publication, b"one", b"")
    assert publication.offer(memoryview(b"two"), 5) > 0
    assert publication.offer_parts([b"thr", bytearray(b"ee")]) > 0
    taken, position = publication.offer_many([b"no", b"four", bytearray(b"five"), b"six"], 1)
    assert taken == 3
    assert position == publication.position
    assert publication.offer_many((b"seven",))[0] == 1
    assert publication.offer_block(b"..aabb", 2, 1)[0] == 2
    with publication.try_claim(5, -9) as view:
        view[:] = b"claim"
    expected = [
        b"one",
        b"",
        b"two",
        b"three",
        b"four",
        b"five",
        b"six",
        b"seven",
        b"aa",
        b"bb",
        b"claim",
    ]
    assert receive(subscription, len(expected)) == expected


def test_poll_counts_messages_and_never_waits(client):
    publication, subscription = pair(client)
    assert len(subscription.poll(10)) == 0
    send(publication, b"a", b"b", b"c")
    assert list(subscription.poll(2)) == [b"a", b"b"]
    assert list(subscription.poll(2)) == [b"c"]
    assert list(subscription.poll(2)) == []


def test_bytes_bound_ends_a_batch_but_one_message_always_fits(client):
    publication, subscription = pair(client)
    send(publication, b"x" * 1000, b"y" * 1000, b"z")
    assert list(subscription.poll(10, 1)) == [b"x" * 1000]
    assert len(receive(subscription, 2)) == 2


def test_a_batch_has_headers_positions_and_sessions(client):
    publication, subscription = pair(client)
    assert publication.offer(b"a", 1) > 0
    last = publication.offer(b"b", -(2**63))
    with subscription.poll(10) as batch:
        assert batch.headers() == [1, -(2**63)]
        assert batch.positions()[-1] == last
        assert set(batch.session_ids()) == {publication.session_id}
        assert (batch.common_header, batch.end_position) == (None, last)
        views = batch.messages()
        assert [bytes(view) for view in views] == [b"a", b"b"]
        assert [len(view) for view in views] == [1, 1]
        assert (views[1].position, views[1].reserved_value) == (last, -(2**63))
        assert views[0].session_id == publication.session_id


def test_a_batch_knows_the_header_that_its_messages_share(client):
    publication, subscription = pair(client)
    last = [publication.offer(data, -7) for data in (b"a", b"b", b"c")][-1]
    with subscription.poll(10) as batch:
        assert (batch.common_header, batch.end_position) == (-7, last)
    with subscription.poll(10) as batch:
        assert (batch.common_header, batch.end_position) == (None, None)


def test_a_batch_knows_how_much_of_the_log_it_holds(client):
    publication, subscription = pair(client)
    ends = [publication.offer(bytes(length)) for length in (1, 32, 33, 0, 700)]
    with subscription.poll(10) as batch:
        assert len(batch) == len(ends)
        assert batch.length_bytes == ends[-1]


def test_a_long_message_is_reassembled(client):
    publication, subscription = pair(client)
    long = bytes(range(256)) * 300
    assert len(long) > publication.max_payload_length
    send(publication, long, b"after")
    assert receive(subscription, 2) == [long, b"after"]


def test_demand_is_enforced(client):
    publication, subscription = pair(client)
    send(publication, *[b"%d" % i for i in range(5)])
    assert len(subscription.poll_demanded(10)) == 0
    subscription.request(2)
    assert list(subscription.poll_demanded(10)) == [b"0", b"1"]
    assert subscription.demand == 0
    subscription.request(2**62)
    subscription.request(2**62)
    subscription.request(2**200)
    assert subscription.demand == 2**63 - 1
    assert len(subscription.poll_demanded(10)) == 3
    for n in (0, -1, -(2**200)):
        with pytest.raises(ValueError, match="positive"):
            subscription.request(n)


def test_reasons_are_aerons_numbers(client):
    """A6."""
    lonely = client.add_publication(IPC, 99)
    assert lonely.offer(b"x") == NOT_CONNECTED == -1
    assert lonely.offer_many([b"x"]) == (0, NOT_CONNECTED)
    assert lonely.try_claim(8) == NOT_CONNECTED
    publication, _subscription = pair(client)
    until(lambda: publication.offer(b"x" * 1000) == BACK_PRESSURED)
    assert publication.offer(b"x" * (publication.max_message_length + 1)) == ERROR == -6
    assert "RST_E" in _core.last_error().code
    publication.close()
    assert publication.offer(b"x") == CLOSED == -4
    assert publication.offer_many([b"x"]) == (0, CLOSED)
    assert publication.offer_block(b"xx", 1) == (0, CLOSED)
    assert publication.offer_parts([b"x"]) == CLOSED
    assert publication.try_claim(1) == CLOSED
    assert publication.position == CLOSED
    assert publication.is_closed
    assert not publication.is_connected


def test_back_pressure_accepts_a_part_of_a_list(client):
    publication, subscription = pair(client)
    messages = [b"%08d" % i + b"." * 1000 for i in range(2000)]
    start = 0
    got: list[bytes] = []
    rounds = 0
    while start < len(messages):
        taken, result = publication.offer_many(messages, start)
        assert (result > 0) == (taken > 0)
        start += taken
        rounds += 1
        got += receive(subscription, start - len(got))
    assert rounds > 1
    assert got == messages


def test_image_events_report_arrivals_and_departures(client):
    publication, subscription = pair(client)
    event = until(subscription.next_event)
    assert (event.kind, event.session_id, event.source) == (
        "available",
        publication.session_id,
        "aeron:ipc",
    )
    send(publication, b"last")
    end = publication.position
    publication.close()
    assert receive(subscription, 1) == [b"last"]

    def gone():
        subscription.poll(1)
        return subscription.next_event()

    event = until(gone)
    assert (event.kind, event.position, event.end_position) == ("unavailable", end, end)
    assert event.ended_in_order


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("nonsense", "aeron"),
        ("aeron:udp?endpoint=localhost", "localhost"),
        ("aeron:udp", "aeron:udp"),
        ("aeron:ipc?term-length=1000", "term-length"),
        ("aeron:ipc?rs-unknown=1", "rs-unknown"),
        ("aeron:udp?endpoint=no.such.host.invalid:40123", "no.such.host.invalid"),
    ],
)
def test_bad_channel_is_a_clear_error(client, channel, words):
    with pytest.raises(errors.RStreamError, match=words) as caught:
        client.add_publication(channel, 1)
    assert caught.value.code.startswith("RST_E")


def test_bad_arguments(client):
    publication, subscription = pair(client)
    for bad in (0, -1):
        with pytest.raises(ValueError, match="limit"):
            subscription.poll(bad)
    assert len(subscription.poll(2**40)) == 0
    with pytest.raises(TypeError):
        subscription.poll()
    with pytest.raises(TypeError):
        subscription.poll("1")
    with pytest.raises(TypeError):
        publication.offer("text")
    with pytest.raises(OverflowError):
        publication.offer(b"x", 2**64)
    assert publication.offer_many([b"x", 1]) == (1, publication.position)
    with pytest.raises(TypeError):  # of the first one only: the caller counts those before it
        publication.offer_many([b"x", 1], 1)
    with pytest.raises(ValueError, match="start"):
        publication.offer_many([b"x"], -1)
    assert publication.offer_many([], 5)[0] == 0
    with pytest.raises(ValueError, match="whole messages"):
        publication.offer_block(b"xxx", 2)
    with pytest.raises(ValueError, match="negative"):
        publication.try_claim(-1)
    with pytest.raises(ValueError, match="nan"):
        subscription.wait(float("nan"))
    with pytest.raises(errors.ConfigError, match="stream_id"):
        client.add_publication(IPC, 2**31)
    with pytest.raises(errors.ChannelError):
        client.add_publication("aeron:ipc\0", 1)
    for made_by_c in (_core.Batch, _core.Message, _core.Publication, _core.Claim, _core.Waiter):
        with pytest.raises(TypeError):
            made_by_c()
        with pytest.raises(TypeError):
            made_by_c.attribute = 1


def test_channel_value_and_text_mean_the_same(client):
    channel = Channel.ipc(term_length=1 << 16)
    publication, subscription = pair(client, channel=channel)
    assert publication.term_length == 1 << 16
    assert publication.channel == str(channel) == subscription.channel
    assert Channel.parse(str(channel)) == channel


def test_claim_aborts_after_an_exception_and_readers_skip_it(client):
    """A4."""
    publication, subscription = pair(client)
    with pytest.raises(KeyError), publication.try_claim(4) as view:
        view[:] = b"evil"
        raise KeyError
    claim = publication.try_claim(4)
    claim.abort()
    claim.abort()
    with pytest.raises(errors.ClosedError):
        claim.commit()
    assert publication.try_claim(4).position > 0  # aborted, because it was dropped
    claim = publication.try_claim(4)
    memoryview(claim)[:] = b"good"
    assert claim.commit() == claim.position == publication.position
    assert receive(subscription, 1) == [b"good"]


def test_name_mismatch_and_headers():
    value = _core.encode_header(3, 1, 32, 9, _core.name_hash("ticks"))
    assert _core.decode_header(value) == (3, 1, 32, 9, _core.name_hash("ticks"))
    assert -(2**63) <= value < 2**63
    assert _core.decode_header(0) is None
    with pytest.raises(ValueError, match="kind"):
        _core.encode_header(256, 0, 0, 0, 0)


def test_directory_tools(driver, client, driver_dir):
    _publication, _subscription = pair(client)
    assert _core.probe(driver_dir) == 2
    pid, age_ms = _core.driver_info(driver_dir)
    assert pid > 0
    assert age_ms < 5000
    labels = [one.label for one in _core.read_counters(driver_dir)]
    assert any(" 7 aeron:ipc" in label for label in labels), [x for x in labels if "ipc" in x]
    assert _core.read_errors(driver_dir) == []
    with pytest.raises(errors.DriverError):
        _core.clean(driver_dir)
    with pytest.raises(errors.DriverInUse, match="living"):
        Driver(driver_dir)
    assert {option.name for option in _core.driver_options()} >= {"dir", "mtu", "threading"}
    assert _core.host_token(driver_dir) == _core.host_token(driver_dir)


def test_settings_of_the_driver_are_checked(driver_dir):
    with pytest.raises(errors.ConfigError, match="mtu"):
        Driver(driver_dir, mtu=100)
    with pytest.raises(errors.ConfigError, match="no-such"):
        Driver(driver_dir, options={"no-such-option": "1"})
    with pytest.raises(errors.ConfigError, match="threading"):
        Driver(driver_dir, threading="many")  # type: ignore[arg-type]


def test_a_missing_driver_is_reported(driver_dir):
    from rstream.config import ClientConfig

    with pytest.raises(errors.DriverNotFound, match=driver_dir):
        Client(driver_dir, config=ClientConfig(start_driver=False, driver_timeout_s=0.05))
    assert _core.probe(driver_dir) == 0


def test_the_caller_runs_a_driver_in_invoker_mode(driver_dir):
    with Driver(driver_dir, threading="invoker") as driver:
        work_count, deadline_ns = driver.do_work()
        assert work_count >= 0
        assert deadline_ns > 0


def test_benchmark_blocks_detect_every_fault():
    size, count = 37, 100
    block = bytearray(size * count)
    assert _core.fill_block(block, size, 5) == count
    assert _core.check_messages(block, size, 5) == count
    messages = [bytes(block[i : i + size]) for i in range(0, len(block), size)]
    assert len(set(messages)) == count
    assert _core.check_messages(messages, size, 5) == count
    with pytest.raises(ValueError, match="order"):
        _core.check_messages(messages, size, 6)
    for at in range(size):
        broken = list(messages)
        broken[3] = broken[3][:at] + bytes([broken[3][at] ^ 1]) + broken[3][at + 1 :]
        with pytest.raises(ValueError, match="message 3"):
            _core.check_messages(broken, size, 5)
    with pytest.raises(ValueError, match="length"):
        _core.check_messages([b"short"], size, 5)
    with pytest.raises(ValueError, match="12"):
        _core.fill_block(block, 11, 0)


@pytest.mark.parametrize("module", ["rstream._core", "rstream.lab._lab"])
def test_stub_and_module_agree(module: str):
    pytest.importorskip("mypy.stubtest", reason="mypy is missing")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            module,
            "--ignore-unused-allowlist",
            "--allowlist",
            str(Path(__file__).parent / "stubtest.txt"),
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
