"""The loop of a sink: it waits for the readers' demand when on_next does not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rstream._waits import NOTICE_AFTER_S
from rstream.errors import ClosedError, DriverError, ForkedError, RStreamError
from rstream.stream._publisher_facts import sending_of
from rstream.stream._reactive._watch import Watch

if TYPE_CHECKING:
    from rstream.stream._reactive._asking import Asker
    from rstream.stream._reactive._sink import StreamSink
    from rstream.stream._reactive._watch import Handover

#: Pause of a loop that cannot wait on the driver.
PAUSE_S = 0.05
#: How long the loop rests when elements came since it last looked: on_next looks for demand then.
LEAVE_S = 0.005


class SinkLoop:
    """Waits for the readers' demand and asks the upstream. One thread at a time."""

    def __init__(self, sink: StreamSink[Any], asker: Asker, handover: Handover) -> None:
        self._sink = sink
        self._asker = asker
        self._handover = handover
        self._watch = Watch(sink.publisher)
        self._sent_count = 0
        self._alone_since_s: float | None = None
        self._has_noticed = False

    def step(self, wait_s: float) -> bool:
        """Ask for what is wanted, then wait; see :class:`rstream.stream.executor.Loop`."""
        sink = self._sink
        if sink.is_done:
            self._watch.leave()
            self._handover.leave()
            return False
        try:
            self._watch.attach()
            self._asker.ask()
            self._check_alone()
            if wait_s > 0 and not self._is_left_to_sender(wait_s):
                # Once more: demand that another thread has read meanwhile wakes no watch.
                self._asker.ask()
                self._watch.wait(wait_s)
        except (DriverError, ClosedError) as error:
            self._watch.leave()
            if not sink.is_done:
                self._revive(error, wait_s)
        except ForkedError:
            return False
        except Exception as error:
            sink.fail(error)
        return True

    def stop(self) -> None:
        """At the end of the program."""
        self._sink._leave()  # pyright: ignore[reportPrivateUsage] - same room

    def join(self, timeout_s: float) -> None:
        """Nothing to wait for: without its client a step ends quietly when the sink is done."""

    def _is_left_to_sender(self, wait_s: float) -> bool:
        """Whether elements come, so that on_next looks for demand by itself."""
        before, self._sent_count = self._sent_count, self._asker.sent_count
        return before != self._sent_count and not self._handover.rest(min(wait_s, LEAVE_S))

    def _check_alone(self) -> None:
        """Log once when there is no reader for a while. Nothing was requested meanwhile.

        Raises:
            RemoteError: the last reader left with an error.
        """
        publisher = self._sink.publisher
        if publisher.is_connected:
            self._alone_since_s = None
            self._has_noticed = False
            return
        sending = sending_of(publisher)
        sending.check_accepted()
        if self._alone_since_s is None:
            self._alone_since_s = time.monotonic()
        elif not self._has_noticed and time.monotonic() - self._alone_since_s >= NOTICE_AFTER_S:
            self._has_noticed = True
            sending.readers.say_alone("and asks its upstream for nothing meanwhile")
            publisher.revive()  # which logs it

    def _revive(self, error: Exception, wait_s: float) -> None:
        sink = self._sink
        publisher = sink.publisher
        try:
            publisher.revive()
        except RStreamError as why:
            sink.fail(why)
            return
        if publisher.is_closed or publisher.is_lost:
            sink.fail(error)
        elif wait_s > 0:
            time.sleep(min(wait_s, PAUSE_S))
