"""What tests do with the reader and the publisher of a stream, each with a driver of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import rstream
from rstream import _core, stream
from rstream.keys import GroupKey
from tests.support import until

PATIENCE_S = 20.0


@contextlib.contextmanager
def both_ends(
    hosts: tuple[str, str],
    name: str,
    *codec: Any,
    channel: str,
    key: GroupKey | None,
    mtu: int | None = None,
) -> Iterator[tuple[Any, Any]]:
    """A reader at the first host and a publisher at the second, with one key."""
    near, far = hosts
    with (
        rstream.subscriber(name, *codec, channel=channel, dir=near, key=key) as sub,
        rstream.publisher(name, *codec, channel=channel, dir=far, key=key, mtu=mtu) as pub,
    ):
        yield sub, pub


def flows(sub: Any, pub: Any, *items: Any) -> None:
    """The items come, in order."""
    for item in items:
        pub.send(item, timeout_s=PATIENCE_S)
    assert [sub.get(timeout_s=PATIENCE_S) for _ in items] == list(items)


def refusals(end: Any) -> list[str]:
    """The refusals that events() tells."""
    return [event.reason for event in end.events() if isinstance(event, stream.PeerRefused)]


def refusal(end: Any) -> str:
    """The first refusal that events() tells."""
    return until(lambda: refusals(end))[0]


def errors_of(directory: str) -> str:
    """The error log of a driver."""
    return "\n".join(one.text for one in _core.read_errors(directory))


def screen(*arguments: str) -> str:
    """What a command of `rstream` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "rstream", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
