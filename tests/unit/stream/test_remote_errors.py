"""An error that a publisher ends with arrives: class, message, notes, traceback and causes."""

from __future__ import annotations

import json
import pickle
import re
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream import _known_errors, errors, stream
from rstream.errors import RemoteError
from rstream.stream import _remote
from tests.support import until

MTU_PAYLOAD = 1376


class Unregistered(LookupError):
    pass


@errors.register(name="tests.Registered")
class Registered(Exception):
    def __init__(self, first, second):  # cannot be made of a text
        super().__init__(f"{first} and {second}")


def raised(error, cause=None):
    """The error with a traceback, as code that fails has it."""
    try:
        if cause is None:
            raise error
        raise error from cause
    except BaseException as caught:
        return caught


def deeper(n, error):
    if n:
        other(n - 1, error)
    raise error


def other(n, error):
    deeper(n, error)


def crossed(error, bytes_max=MTU_PAYLOAD):
    data = _remote.encode_failure(error, bytes_max)
    assert len(data) <= bytes_max
    return _remote.make_remote(_remote.decode_failure(data))


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (ValueError("bad"), ValueError),
        (KeyError("k"), KeyError),
        (FileNotFoundError(2, "no such file", "x"), FileNotFoundError),
        (ZeroDivisionError(), ZeroDivisionError),
        (json.JSONDecodeError("bad", "doc", 0), ValueError),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), ValueError),
        (Unregistered("none"), LookupError),
        (Registered("a", "b"), Registered),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_an_error_is_an_instance_of_its_nearest_known_class(error, known):
    arrived = crossed(raised(error))
    assert isinstance(arrived, known)
    assert isinstance(arrived, RemoteError)
    with pytest.raises(known):
        raise arrived
    assert arrived.remote_message == str(error)
    assert str(arrived) == f"{type(error).__name__}: {error}".removesuffix(": ")


def test_an_error_of_each_builtin_class_arrives_as_one():
    for known in _known_errors._by_name.values():
        if known.__module__ == "builtins":
            arrived = crossed(raised(known("bad")))
            assert isinstance(arrived, known)
            assert isinstance(pickle.loads(pickle.dumps(arrived)), known)


@errors.register(name="tests.Forbidding")
class Forbidding(Exception):
    """Its instances take no arguments from others."""

    args = property(lambda self: ())


def test_a_class_that_cannot_be_made_arrives_as_a_plain_remote_error():
    arrived = crossed(raised(Forbidding("bad")))
    assert type(arrived) is RemoteError
    assert arrived.remote_type == "tests.Forbidding"


@pytest.mark.parametrize(
    "error",
    [
        StopIteration(1),
        StopAsyncIteration(),
        KeyboardInterrupt(),
        SystemExit(3),
        ExceptionGroup("g", [ValueError()]),
        SyntaxError("s"),
        Exception("plain"),
    ],
    ids=repr,
)
def test_what_would_mean_something_else_here_is_a_plain_remote_error(error):
    arrived = crossed(raised(error))
    assert type(arrived) is RemoteError
    assert arrived.remote_type == type(error).__name__


def test_causes_contexts_and_notes_arrive():
    try:
        try:
            int("x")
        except ValueError as error:
            error.add_note("at the counter")
            raise KeyError("first") from error
    except KeyError as error:
        inner = error
    try:
        try:
            raise inner
        except KeyError:
            raise RuntimeError("outer")  # noqa: B904 - its context is what is tested
    except RuntimeError as error:
        arrived = crossed(error)
    assert isinstance(arrived, RuntimeError)
    assert arrived.__cause__ is None
    context = arrived.__context__
    assert isinstance(context, KeyError)
    cause = context.__cause__
    assert isinstance(cause, ValueError)
    assert cause.remote_notes == ("at the counter",)
    assert 'int("x")' in cause.remote_traceback
    printed = "".join(traceback.format_exception(arrived))
    for text in ("at the counter", "RuntimeError: outer", "KeyError: 'first'", "test_remote_err"):
        assert text in printed


def test_a_suppressed_context_stays_there():
    try:
        try:
            raise ValueError("secret")
        except ValueError:
            raise KeyError("told") from None
    except KeyError as error:
        data = _remote.encode_failure(error, MTU_PAYLOAD)
    assert b"secret" not in data.partition(b"\0")[0]
    arrived = _remote.make_remote(_remote.decode_failure(data))
    assert arrived.__context__ is None
    assert arrived.__cause__ is None


def test_a_long_traceback_loses_its_middle_and_keeps_where_it_failed():
    with pytest.raises(ValueError, match="bottom") as caught:
        deeper(15, ValueError("at the bottom"))
    arrived = crossed(caught.value)
    assert arrived.remote_message == "at the bottom"
    assert "characters cut" in arrived.remote_traceback
    assert arrived.remote_traceback.endswith("raise error")
    whole = crossed(caught.value, 1 << 16)
    assert "characters cut" not in whole.remote_traceback


@pytest.mark.parametrize("length", [20, 400, 700])
def test_a_message_stays_whole_and_its_traceback_is_cut(length):
    text = f"order {'x' * length}: no such price"
    error = ValueError(text)
    error.add_note("n" * 400)
    with pytest.raises(ValueError, match="no such price"):
        deeper(15, error)
    arrived = crossed(error)
    assert str(arrived).endswith(text)
    assert "characters cut" in arrived.remote_traceback
    assert arrived.remote_traceback.endswith("raise error")


def test_an_error_that_causes_itself_ends():
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    arrived = crossed(first)
    assert arrived.__cause__ is not None
    assert arrived.__cause__.__cause__ is None


def test_a_message_that_cannot_be_made_or_written_harms_nothing():
    class Nasty(ValueError):
        def __str__(self):
            raise RuntimeError

    assert "__str__ raised RuntimeError" in str(crossed(Nasty()))
    assert "\\udcff" in str(crossed(ValueError("a\udcffb\0c")))


@given(
    message=st.text(max_size=5000),
    notes=st.lists(st.text(max_size=500), max_size=12),
    bytes_max=st.integers(0, 2000),
)
def test_it_never_exceeds_its_limit(message, notes, bytes_max):
    error = raised(ValueError(message), raised(KeyError(message)))
    for note in notes:
        error.add_note(note)
    crossed(error, bytes_max)


@given(data=st.binary(max_size=200), head=st.sampled_from([b"", b"\0", b"text\0", b"\0\x91\x95"]))
def test_foreign_bytes_are_a_text(data, head):
    assert isinstance(_remote.make_remote(_remote.decode_failure(head + data)), RemoteError)


def test_control_characters_of_an_error_do_not_reach_a_terminal():
    failed = ValueError("bad \x1b]0;title\x07 \x9b2J\nsecond line")
    failed.add_note("\x1b[2J note")
    failed.__cause__ = KeyError("\u202ecause")
    error = _remote.make_remote(_remote.decode_failure(_remote.encode_failure(failed, 4096)))
    shown = "".join(traceback.format_exception(error))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert r"bad \x1b]0;title\x07 \x9b2J" in str(error)
    assert "\nsecond line" in str(error)
    assert r"\x1b[2J note" in shown
    plain = _remote.make_remote(_remote.decode_failure(b"\x1b[31mred"))
    assert str(plain) == r"\x1b[31mred"


def test_a_name_from_outside_finds_only_what_is_registered():
    for name in ("os.system", "subprocess.CalledProcessError", "SystemExit", "Exception", "int"):
        assert _known_errors.known_class([name]) is None


def test_it_can_be_pickled_with_its_class():
    arrived = crossed(raised(Registered("a", "b")))
    copy = pickle.loads(pickle.dumps(arrived))
    assert isinstance(copy, Registered)
    assert isinstance(copy, RemoteError)
    assert vars(copy) == vars(arrived)
    assert str(copy) == str(arrived)


def test_register_refuses_what_it_cannot_serve():
    with pytest.raises(TypeError, match="subclass of Exception"):
        errors.register(int)
    with pytest.raises(TypeError, match="StopIteration always arrive"):
        errors.register(type("Mine", (StopIteration,), {}))
    with pytest.raises(ValueError, match=r"'tests.Registered' belongs to .*Registered"):
        errors.register(type("Another", (Exception,), {}), name="tests.Registered")


def test_a_reader_gets_the_error_of_its_publisher(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = stream.publisher(name, dir=driver_dir, linger_s=0)
        with pytest.raises(ValueError, match="bad"), pub:
            pub.send(1)
            raise ValueError("bad price") from KeyError("px")
        assert sub.get() == 1
        with pytest.raises(ValueError, match="its publisher failed: ValueError: bad price") as got:
            sub.get()
    assert isinstance(got.value, RemoteError)
    assert isinstance(got.value.__cause__, KeyError)
    assert got.value.session_id == pub.session_id


def test_an_event_has_the_error_too(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir, on_lost="event") as sub:
        pub = stream.publisher(name, dir=driver_dir)
        pub.send(1)
        pub.fail(raised(OSError("disk")), linger_s=0)
        failed = until(
            lambda: (
                (sub.poll() and None)
                or next((e for e in sub.events() if isinstance(e, stream.Failed)), None)
            )
        )
    assert failed.reason == "OSError: disk"
    assert isinstance(failed.error, OSError)


@pytest.mark.parametrize("on_lost", ["raise", "event"])
def test_no_item_is_lost_when_a_publisher_runs_out_of_memory(driver_dir, name, on_lost):
    with stream.subscriber(name, dir=driver_dir, on_lost=on_lost) as sub:
        healthy = stream.publisher(name, dir=driver_dir, linger_s=0)
        failing = stream.publisher(name, dir=driver_dir, linger_s=0)
        healthy.send_many([0, 1])
        failing.send(2)
        failing.fail(MemoryError("x"))
        healthy.send(3)
        healthy.close(linger_s=0)
        got = []
        errors_got = []
        while not sub.is_ended:
            try:
                got += sub
            except MemoryError as error:
                errors_got.append(error)
        assert len(errors_got) == (on_lost == "raise")
        assert sorted(got) == [0, 1, 2, 3]
