"""This process's ends towards the readers: publishers for rows, requesters for questions.

Spark's daemon forks the workers, reuses them for many tasks, and ends them without ``atexit``. So
both are made after the fork and kept for each process. :mod:`rstream.spark._worker_end` completes
the streams; if it cannot, the driver notices the end of the process.
"""

from __future__ import annotations

import atexit
import os
import time
from typing import TYPE_CHECKING, Any, Final

from rstream import keys
from rstream._channel_uri import ChannelUri
from rstream._waits import Deadline
from rstream.errors import ConfigError, NoServer, RequestTimeout, RStreamError, ServerLost
from rstream.ledger._internal import Answer, Ask, service_name
from rstream.ray._internal import StreamHandle, adopt_key
from rstream.service import Requester, requester
from rstream.spark import _worker_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.rate import RateLimit
    from rstream.spark._options import SinkConfig
    from rstream.stream import Publisher

#: How often the one who asks looks whether the reading end is still there.
CHECK_S: Final = 0.5
#: Pause after the death of a reading end before its next one is asked.
LOST_PAUSE_S: Final = 0.05

#: What a user does when a question stays without an answer.
NEXT: Final[dict[str, str]] = dict.fromkeys(
    ("begin", "look", "prepare", "drop"), "the task fails, Spark may retry it"
) | {
    "commit": "start the query again: it sends the epoch anew, and none comes twice",
    "abort": "it drops the rows with the next run of the query, or when it is closed",
}

_process_id = 0
_publishers: dict[tuple[str, str | None, RateLimit | None], Publisher[Any]] = {}
_requesters: dict[tuple[str, str | None], Requester[Answer]] = {}


def _forget_parents() -> None:
    """Drop what the parent had: it cannot be used after a fork."""
    global _process_id
    if _process_id != os.getpid():
        _publishers.clear()
        _requesters.clear()
        _process_id = os.getpid()
        atexit.register(close_ends)
        _worker_end.complete_at_end(close_ends)


def close_ends() -> None:
    """Close this process's ends, so that no reader takes its end for a death."""
    if _process_id != os.getpid():
        return
    for requester_ in _requesters.values():
        requester_.close()
    _requesters.clear()
    for publisher in _publishers.values():
        publisher.close(linger_s=0)
    _publishers.clear()


def _learn_key(config: SinkConfig, handle: StreamHandle) -> None:
    """Let this process have the key of a reader on another host.

    Raises:
        ConfigError: nobody gave it; the text names the option that does.
    """
    config.learn_keys()
    key_id = ""
    if not handle.is_local(config.driver_dir):
        key_id = keys.missing(adopt_key(handle.udp_channel))
    if key_id:
        raise ConfigError(
            f"rstream sink: the reader of {handle.name!r} (node {handle.node}) is on another host, "
            f"and this process has no key {key_id}",
            hint='give the option "secretKey" the 64 hex digits of the reader\'s key: '
            "rstream.ray.job_key().secret.hex() in a program of its Ray namespace, or "
            "key.secret.hex() where it was opened with key=",
        )


def publisher_of(config: SinkConfig, index: int) -> Publisher[Any]:
    """The publisher towards a handle, made once."""
    _forget_parents()
    key = (config.handles[index], config.driver_dir, config.rate)
    publisher = _publishers.get(key)
    if publisher is None or publisher.is_closed:
        handle = StreamHandle.from_text(key[0])
        _learn_key(config, handle)
        publisher = handle.publisher(driver_dir=config.driver_dir, rate=config.rate)
        _publishers[key] = publisher
    return publisher


def _asking_channel(handle: StreamHandle) -> str:
    key = ChannelUri.parse(handle.udp_channel).get("rs-key")
    channel = f"aeron:udp?endpoint={handle.endpoint}"
    return channel if key is None else f"{channel}|rs-key={key}"


def ask(
    config: SinkConfig,
    index: int,
    question: Ask,
    *,
    timeout_s: float,
    check: Callable[[], None] | None = None,
) -> Answer:
    """Ask the reading end of a handle, and if it dies before it answers the one opened after it.

    No question does harm when it is asked again: the answer says what has been done already.

    Args:
        timeout_s: most seconds until the answer is there.
        check: is called twice a second while there is no answer; what it raises ends the wait.
    Raises:
        RStreamError: it does not answer; the text says who.
    """
    _forget_parents()
    text = config.handles[index]
    handle = StreamHandle.from_text(text)
    found = _requesters.get((text, config.driver_dir))
    if found is None:
        _learn_key(config, handle)
        is_local = handle.is_local(config.driver_dir)
        found = requester(
            service_name(handle.stream_id),
            Answer,
            channel=None if is_local else _asking_channel(handle),
            dir=handle.driver_dir if is_local else config.driver_dir,
        )
        _requesters[(text, config.driver_dir)] = found
    deadline = Deadline(timeout_s)
    while True:
        left_s = max(deadline.left_s(), 0.001)
        try:
            return found.request(
                question, timeout_s=left_s if check is None else min(left_s, CHECK_S)
            )
        except (NoServer, RequestTimeout, ServerLost) as error:
            is_lost = isinstance(error, ServerLost)
            if deadline.left_s() > LOST_PAUSE_S and (is_lost or check is not None):
                if is_lost:
                    time.sleep(LOST_PAUSE_S)
                if check is not None:
                    check()
                continue
            raise RStreamError(
                f"rstream sink: the reading end of {handle.name!r} (node {handle.node}) does not "
                f"answer {question.do!r} of epoch {question.epoch} within {timeout_s:.1f} s: it is "
                f"dead, too slow to open, or no rstream.ray.committed_reader; {NEXT[question.do]}"
            ) from error
