"""What ``rstream watch`` reads, and how it prints it."""

from __future__ import annotations

import json
import pickle

import msgspec
import pytest

from rstream import _core
from rstream._channel_uri import ChannelUri
from rstream._neighbours import work_stream_id
from rstream.cli import _progress
from rstream.cli._watch_lines import TEXT_MAX, Shown, is_message, line_of
from rstream.cli._watch_targets import TARGETS_MAX, is_of, targets, what_is_missing
from rstream.cli._watcher import SeenMessage
from rstream.stream._names import KIND_COMPLETE, KIND_ERROR, KIND_PLAIN, header_of
from rstream.stream._remote import encode_failure
from tests.unit.test_prometheus import UDP, image, publication

TICKS = is_of("ticks")


def channels(*arguments: object, **options: object) -> list[str]:
    found, _ = targets(*arguments, **options)  # type: ignore[arg-type]
    return [target.channel for target in found]


def test_a_session_without_another_reader_is_left_alone() -> None:
    assert targets([publication()], [], TICKS) == ([], 1)
    assert targets([publication()], [image()], TICKS, own_client=2) == ([], 1)
    assert len(channels([publication()], [image()], TICKS)) == 1
    assert len(channels([publication()], [], TICKS, alone=True)) == 1


def test_what_is_missing_names_what_is_there() -> None:
    names = [f"s{number:02}" for number in range(10)]
    there = [publication(channel=f"aeron:ipc?rs-name={name}") for name in names]
    assert what_is_missing("ticks", [], [], []) == (
        "waits for a publisher of 'ticks'; nothing is published here"
    )
    text = what_is_missing("zzz", there, [], [])
    assert text.endswith(f"; published here: {', '.join(map(repr, names[:8]))} and 2 more")


def test_no_law_no_window_and_no_demand_waits_for_it() -> None:
    (channel,) = channels([publication()], [image()], TICKS)
    uri = ChannelUri.parse(channel)
    assert (uri.media, uri.get("session-id")) == ("ipc", "73")
    assert (uri.get("tether"), uri.get("rs-evict")) == ("false", "250ms")


def test_a_publication_over_udp_is_spied_on() -> None:
    state = publication(channel=UDP + "|term-length=1m|fc=min", is_ipc=False)
    (channel,) = channels([state], [], is_of("prices"))
    uri = ChannelUri.parse(channel)
    assert uri.is_spy
    assert uri.get("endpoint") == "10.0.0.7:40123"
    assert uri.get("fc") is None


def test_a_session_of_another_host_is_read_beside_its_reader() -> None:
    reader = image(channel=UDP + "|rcv-wnd=64k|rs-evict=5s", received=0, highest=0)
    (channel,) = channels([], [reader], is_of("prices"))
    uri = ChannelUri.parse(channel)
    assert (uri.is_spy, uri.get("rcv-wnd")) == (False, "64k")
    assert uri.get("rs-evict") == "250ms"
    assert channels([], [reader], is_of("prices"), own_client=2) == []
    chosen_later = image(channel="aeron:udp?endpoint=10.0.0.7:0|rs-name=prices", received=0)
    assert channels([], [chosen_later], is_of("prices")) == []


def test_a_stream_is_a_name_or_a_number() -> None:
    of_readers = work_stream_id("reports", "ticks")
    assert not TICKS(UDP.replace("prices", "ticks"), of_readers)  # of shared work: no messages
    assert is_of(str(of_readers))(UDP, of_readers)
    assert is_of("ticks")(UDP.replace("prices", "ticks"), 1)
    assert not is_of("tick")(UDP.replace("prices", "ticks"), 1)
    assert is_of("7")("aeron:ipc", 7)
    assert is_of("-7")("aeron:ipc", -7)
    assert is_of("7")("aeron:ipc?rs-name=7", 99)


def test_the_number_of_sessions_is_bounded() -> None:
    many = [publication(number) for number in range(TARGETS_MAX + 5)]
    assert len(channels(many, [], TICKS, alone=True)) == TARGETS_MAX


def seen(payload: bytes, codec_id: int = 2, kind: int = KIND_PLAIN) -> SeenMessage:
    return SeenMessage(1.5, 7, 73, 128, header_of(kind, codec_id, "ticks"), payload, 0)


PACKED = msgspec.msgpack.encode({"px": 1.5, 3: b"\x00"})


@pytest.mark.parametrize(
    ("message", "is_raw", "line"),
    [
        (seen(PACKED), False, "73 128 {'px': 1.5, 3: b'\\x00'}"),
        (seen(PACKED), True, f"73 128 {PACKED!r}"),
        (seen(b"abc", 1), False, "73 128 b'abc'"),
        (seen(b"", 1), False, "73 128 b''"),
        (seen(b"", 0, KIND_COMPLETE), False, "73 128 [complete]"),
        (seen(b"no data", 0, KIND_ERROR), False, "73 128 [error] 'no data'"),
        (SeenMessage(1.5, 7, 73, 128, 0, b"aeron", 0), False, "73 128 b'aeron'"),
    ],
)
def test_a_line(message: SeenMessage, is_raw: bool, line: str) -> None:
    assert line_of(message, Shown(is_raw=is_raw)) == line


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("it was unpickled",))


def test_pickles_stay_closed() -> None:
    line = line_of(seen(pickle.dumps(Bomb()), 5), Shown())
    assert "[pickle (id 5), not decoded]" in line


def test_what_is_no_msgpack_is_shown_with_the_reason() -> None:
    assert line_of(seen(b"\xc1"), Shown()).startswith("73 128 [msgpack, not decoded: ")
    found = json.loads(line_of(seen(b"\xc1"), Shown(is_json=True)))
    assert found["base64"] == "wQ=="
    assert found["problem"].startswith("msgpack, not decoded")


def test_a_long_message_is_cut_in_text_and_whole_in_json() -> None:
    message = seen(msgspec.msgpack.encode("x" * 5000))
    line = line_of(message, Shown())
    assert line.endswith("… (5,003 bytes)")
    assert len(line) < TEXT_MAX + 40
    assert json.loads(line_of(message, Shown(is_json=True)))["value"] == "x" * 5000


def test_json_has_the_documented_keys() -> None:
    found = json.loads(line_of(seen(PACKED), Shown(is_json=True)))
    assert found == {
        "time_s": 1.5,
        "stream_id": 7,
        "session_id": 73,
        "position": 128,
        "kind": "message",
        "codec": "msgpack (id 2)",
        "bytes": len(PACKED),
        "skipped_bytes": 0,
        "value": {"px": 1.5, "3": "AA=="},
    }


def test_arrow_is_decoded() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from rstream import codecs

    batch = pyarrow.RecordBatch.from_pydict({"n": [1, 2]})
    encoded = codecs.arrow().encode(batch)
    parts = encoded if isinstance(encoded, list) else [encoded]
    payload = b"".join(bytes(part) for part in parts)
    assert line_of(seen(payload, 3), Shown()) == "73 128 [{'n': 1}, {'n': 2}]"


@pytest.mark.parametrize("is_json", [False, True])
def test_what_python_cannot_show_is_bytes_and_the_reason(is_json: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from rstream import codecs
    from tests.unit.codecs.test_hostile_bytes import array_message, bad_texts, joined

    late = pyarrow.record_batch({"t": pyarrow.array([2**62], pyarrow.timestamp("us"))})
    nulls = pyarrow.record_batch({"n": pyarrow.nulls(1_000_000)})
    payloads = [
        (joined(codecs.arrow().encode(late)), 3),
        (joined(codecs.arrow().encode(nulls)), 3),
        (bad_texts(), 3),
        (array_message(b"<U1", 2) + b"\xff" * 8, 4),
        (array_message(b"|V0", 1 << 40), 4),
        (b"\x91" * 100_000, 2),
    ]
    for payload, codec_id in payloads:
        line = line_of(seen(payload, codec_id), Shown(is_json=is_json))
        assert ('"problem":' if is_json else "73 128 [") in line
        assert "not decoded: " in line or "not shown: " in line
        assert "\n" not in line


def test_arrays_are_decoded_in_one_line() -> None:
    numpy = pytest.importorskip("numpy")
    from rstream import codecs

    array = numpy.arange(6, dtype="f4").reshape(2, 3)
    encoded = codecs.numpy().encode(array)
    parts = encoded if isinstance(encoded, list) else [encoded]
    message = seen(b"".join(bytes(part) for part in parts), 4)
    assert line_of(message, Shown()) == (
        "73 128 array([[0., 1., 2.], [3., 4., 5.]], dtype=float32)"
    )
    found = json.loads(line_of(message, Shown(is_json=True)))
    assert found["value"] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_arrays_and_tables_in_a_dict_are_decoded_in_one_line() -> None:
    numpy = pytest.importorskip("numpy")
    pa = pytest.importorskip("pyarrow")
    from rstream import codecs

    item = {"a": numpy.ones((2, 2)), "r": numpy.float32(1), "t": pa.table({"x": [1]}), "s": "a  b"}
    encoded = codecs.msgpack().encode(item)
    message = seen(b"".join(encoded if isinstance(encoded, list) else [encoded]), 2)
    line = line_of(message, Shown())
    assert line.startswith("73 128 {'a': array([[1., 1.], [1., 1.]]), 'r': np.float32(1.0), 't'")
    assert "\n" not in line
    found = json.loads(line_of(message, Shown(is_json=True)))
    assert found["value"] == {"a": [[1, 1], [1, 1]], "r": 1.0, "t": [{"x": 1}], "s": "a  b"}


def test_an_error_is_shown_by_its_text() -> None:
    payload = encode_failure(ValueError("no data"), 1000)
    line = line_of(seen(payload, 0, KIND_ERROR), Shown())
    assert line == "73 128 [error] 'ValueError: no data'"


def test_only_messages_are_counted() -> None:
    assert is_message(seen(PACKED))
    assert not is_message(seen(b"", 0, KIND_COMPLETE))
    assert _core.decode_header(0) is None
    assert is_message(SeenMessage(1.5, 7, 73, 128, 0, b"aeron", 0))


def test_progress_lines() -> None:
    bar = _progress.progress_line("lab", "draws", 6, 12, 3.0)
    assert bar == f"lab [{'#' * 12}{'.' * 12}] 6 of 12 draws"
    assert _progress.progress_line("lab", "runs", 7, None, 3.2) == "lab: 7 runs, 3 s"
    assert "[########################]" in _progress.progress_line("lab", "draws", 13, 12, 3.0)


class Screen:
    def __init__(self, *, is_terminal: bool) -> None:
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_and_wiped(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    screen = Screen(is_terminal=is_terminal)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(_progress, "AFTER_S", 0.0)
    with _progress.ProgressBar("lab", "draws", 4) as progress:
        progress.add(3)
        while is_terminal and "3 of 4" not in screen.text:
            pass
    assert screen.text.endswith("\r\x1b[K") is is_terminal
    assert bool(screen.text) is is_terminal
