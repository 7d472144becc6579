"""What answers for an endpoint that has failed: who opens its handle later hears why it failed.

Theory of operation. A *refusal* subscribes to the channels of the endpoint just before the reader
leaves them, so the UDP port stays taken, and no stranger gets it. It reads nothing. It rejects each
publisher that comes with the error of the endpoint, as the reader rejected those that were there.
A publisher that stays is refused again when its driver links it again, ten seconds later.

An endpoint of this process that opens at the same place ends it. Another process cannot, so a
counter in the driver directory says who holds the port, and why (:func:`who_holds`).

It belongs to the driver of its endpoint and never joins another one: with that driver it ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Final

from rstream import _core, _session
from rstream._condition import Event
from rstream.driver import watch_loop
from rstream.errors import RStreamError
from rstream.stream._internal import reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.ray._handle import StreamHandle

log = logging.getLogger("rstream")

#: How long an endpoint that failed answers, if nobody closes it or opens it anew.
ANSWER_S: Final = 600.0
#: How many of them answer in one process; the one that failed first stops.
REFUSALS_MAX: Final = 16
#: How often a refusal looks for publishers.
LOOK_S: Final = 0.05
#: How long the driver may take to tell one publisher.
REJECT_S: Final = 5.0
#: Type of the counter that names a failed endpoint with a port, and the begin of its label.
TYPE_FAILED_READER: Final = 7314
LABEL: Final = "rs-failed-reader: "
#: Longest label of a counter.
LABEL_BYTES_MAX: Final = 380

_lock = threading.Lock()
_open: list[Refusal] = []  # oldest first


class Refusal:
    """Refuses the writers of one handle on a thread of its own, from :meth:`start` to :meth:`end`.

    It is opened first, when its owner can end it: a signal handler may raise in any of its calls.

    Args:
        link: a hold on the endpoint's client, taken for this refusal.
        handle: of the endpoint.
        channels: where the endpoint reads.
        reason: the text that writers get.

    Attributes:
        handle: of the endpoint.
        until_s: monotonic time at which it ends by itself.
        thread, join: for :func:`rstream.driver.watch_loop`.
    """

    def __init__(
        self, link: _session.Link, handle: StreamHandle, channels: Sequence[str], reason: str
    ) -> None:
        self.handle = handle
        self._pid = os.getpid()
        self._link = link
        self._channels = channels
        self._reason = reason_of(reason)
        self._ending = Event()
        self._is_started = Event()
        self.until_s = time.monotonic() + ANSWER_S
        self._subscriptions: list[_core.Subscription] = []
        self._counter: _core.Counter | None = None
        self.thread = threading.Thread(
            target=self._run, name=f"rstream-refuse-{handle.name}", daemon=True
        )
        self.join = self.thread.join

    def open(self) -> bool:
        """Subscribe. False: the driver refused a channel, or is gone."""
        client, stream_id = self._link.client, self.handle.stream_id
        try:
            for channel in self._channels:
                added = client.add_subscription(channel, stream_id, on_demand=True)
                self._subscriptions.append(added.core)
            self._name_port()
            with _lock:
                # In a forked child the others may be the parent's.
                _open[:] = [one for one in _open if one._pid == self._pid] + [self]
        except RStreamError as error:
            log.info("stream %r: later writers will not hear why: %s", self.handle.name, error)
            self._close()
            return False
        except BaseException:
            self._close()
            raise
        return True

    def _name_port(self) -> None:
        """Say in the driver directory who holds the port."""
        if not self.handle.endpoint:
            return
        label = f"{LABEL}{self.handle.endpoint} {self._pid} {self._reason}"
        label = label.encode()[:LABEL_BYTES_MAX].decode(errors="ignore")
        try:
            self._counter = self._link.client.add_counter(TYPE_FAILED_READER, label)
        except RStreamError as error:  # such as: all counters are in use
            log.debug("stream %r: its port is not named: %s", self.handle.name, error)

    def start(self) -> None:
        """Begin to refuse; call it when the reader has left, in any case."""
        try:
            with _lock:
                oldest = _open[0] if len(_open) > REFUSALS_MAX else None
                if self.thread.ident is None:  # an endpoint may fail twice
                    self.thread.start()
            watch_loop(self)
        finally:
            self._is_started.set()
        if oldest is not None:
            oldest.end()

    def stop(self) -> None:
        """End soon; waits for nothing."""
        self._ending.set()

    def end(self) -> None:
        """Stop, and leave the channels: the port is free then. Idempotent; any thread."""
        self.stop()
        if self._pid == os.getpid():  # a forked child has neither the thread nor the client
            self._is_started.wait(REJECT_S)  # until the reader has left too
            if self.thread.ident is None:  # its start was interrupted
                self._close()
            else:
                self.thread.join()

    def _run(self) -> None:
        refused: set[int] = set()
        try:
            while time.monotonic() < self.until_s and self._link.is_alive:
                refused = self._refuse(refused)
                if self._ending.wait(LOOK_S):
                    return
        except RStreamError as error:
            log.info("stream %r: refuses no writer any more: %s", self.handle.name, error)
        finally:
            self._close()

    def _refuse(self, refused: set[int]) -> set[int]:
        """Reject the images that are new; returns the rejected ones that are there."""
        present: set[int] = set()
        for subscription in self._subscriptions:
            for image in subscription.images():
                image_id = image.correlation_id
                try:
                    if image_id not in refused:
                        subscription.reject(image_id, self._reason, REJECT_S)
                    present.add(image_id)
                except RStreamError as error:  # the publisher has just gone, or was told already
                    log.debug("stream %r: image %d: %s", self.handle.name, image_id, error)
        return present

    def _close(self) -> None:
        with _lock:
            if self in _open:
                _open.remove(self)
        for subscription in self._subscriptions:
            subscription.close()
        if self._counter is not None:
            self._counter.close()
        _session.release(self._link)


def refuse(handle: StreamHandle, channels: Sequence[str], reason: str) -> Refusal | None:
    """Who is to subscribe for an endpoint that has failed and whose reader has not left yet.

    Returns:
        What refuses its writers once it is opened and started; None: the driver of the endpoint is
        gone.
    """
    link = _session.hold(handle.driver_dir)
    return None if link is None else Refusal(link, handle, channels, reason)


def make_room(stream_id: int, port: int) -> None:
    """End what refuses at a place where an endpoint of this process opens anew.

    Args:
        stream_id: of the endpoint.
        port: its UDP port; 0: any.
    """
    with _lock:
        in_the_way = [
            one
            for one in _open
            if one.handle.stream_id == stream_id
            or (port and one.handle.endpoint.endswith(f":{port}"))
        ]
    for one in in_the_way:
        one.end()


def who_holds(driver_dir: str, port: int) -> str:
    """Which failed endpoint of a driver holds a port, and what to do; empty: none."""
    with contextlib.suppress(RStreamError):  # the driver has gone
        for counter in _core.read_counters(driver_dir):
            if counter.type_id != TYPE_FAILED_READER:
                continue
            facts = counter.label.removeprefix(LABEL).split(" ", 2)
            if len(facts) == 3 and facts[0].endswith(f":{port}"):  # another process wrote it
                return (
                    f"port {port} is still held in process {facts[1]}, where {facts[2]}; close "
                    "that endpoint or end its process, or use another port"
                )
    return ""
