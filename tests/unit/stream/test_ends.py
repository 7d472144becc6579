"""How the end of a ``with`` block ends the stream, and how long that takes.

A publisher with ``linger_s`` waits by steps of ``_perform``. A test that must not wait replaces
``_perform`` by a function that fails, so it needs no clock.
"""

from __future__ import annotations

import pytest

from rstream import stream
from rstream.errors import RemoteError
from tests.support import until

LONG_S = 3600.0


def refuse_to_wait(publisher, monkeypatch):
    def perform(step):
        raise AssertionError(f"it waits: {step}")

    monkeypatch.setattr(publisher, "_perform", perform)


def end_of(sub):
    """The error that ends the stream; None: it was completed."""
    try:
        until(lambda: sub.poll() or sub.is_ended)
    except RemoteError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyboardInterrupt(), "its publisher failed: KeyboardInterrupt"),
        (SystemExit(3), "its publisher failed: SystemExit: 3"),
        (SystemExit("no data"), "its publisher failed: SystemExit: no data"),
        (SystemExit(0), None),
        (SystemExit(), None),
        (GeneratorExit(), None),
    ],
    ids=repr,
)
def test_a_block_ended_by_a_base_exception_does_not_linger(
    driver_dir, name, monkeypatch, error, text
):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with (
            pytest.raises(type(error)),
            stream.publisher(name, dir=driver_dir, linger_s=LONG_S) as pub,
        ):
            pub.send(1)
            refuse_to_wait(pub, monkeypatch)
            raise error
        assert pub.is_closed
        until(lambda: sub.poll() == [1])
        assert (end := end_of(sub)) == text or (text is not None and end.endswith(text))


def test_a_block_ended_by_an_exception_lingers(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with (
            pytest.raises(ZeroDivisionError),
            stream.publisher(name, dir=driver_dir, linger_s=0.05) as pub,
        ):
            steps = []
            perform = pub._perform
            pub._perform = lambda step: (steps.append(step), perform(step))[1]
            pub.send(1)
            raise ZeroDivisionError("no")
        assert steps
        until(lambda: sub.poll() == [1])
        assert end_of(sub).endswith("its publisher failed: ZeroDivisionError: no")


def test_fail_takes_a_linger_of_its_own(driver_dir, name, monkeypatch):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = stream.publisher(name, dir=driver_dir, linger_s=LONG_S)
        pub.send(1)
        refuse_to_wait(pub, monkeypatch)
        pub.fail("no more", linger_s=0)
        until(lambda: sub.poll() == [1])
        assert end_of(sub).endswith("its publisher failed: no more")
