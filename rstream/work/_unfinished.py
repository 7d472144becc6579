"""What is not sent again though nobody has acknowledged it: told to the program, and logged."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from rstream.errors import MessagesLost
from rstream.stream._internal import EVENTS_MAX
from rstream.work._seating import named

if TYPE_CHECKING:
    from rstream._later_log import LaterLog
    from rstream.codecs import Codec
    from rstream.work._desk import Message

__all__ = ("Unfinished", "UnfinishedMessages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A message that no reader has acknowledged, and that is not sent again.

    Attributes:
        number: what ``send`` had returned for it.
        item: the object, decoded; its bytes, if they cannot be decoded here.
        deliveries: how often it was given to a reader.
        reader_losses: how many readers died or left while they had it.
        reason: why, for people.
    """

    number: int
    item: object
    deliveries: int
    reader_losses: int
    reason: str


@final
class UnfinishedMessages:
    """The unfinished messages of one publisher. All methods but :meth:`take` under its lock.

    Args:
        title: the publisher, for people.
        codec: of the objects.
        later: logs when the lock is free.

    Attributes:
        count: of all since the start.
        last_given_up: says what became of the last one whose readers were lost; empty: none.
    """

    def __init__(self, title: str, codec: Codec[Any], later: LaterLog) -> None:
        self._title = title
        self._codec = codec
        self._later = later
        self._events: deque[Unfinished] = deque(maxlen=EVENTS_MAX)
        self._unsaid: dict[str, list[Message]] = {}  # by reason: not logged
        self._told = 0  # of the count, by `take`
        self.count: int = 0
        self.last_given_up: str = ""

    def note(self, message: Message, reason: str) -> None:
        """A message is not sent again."""
        if message.losses:
            self.last_given_up = f"message {message.number} is not sent again: {reason}"
        item: object = message.data
        with suppress(Exception):
            item = self._codec.decode_many([message.data])[0]
        event = Unfinished(
            number=message.number,
            item=item,
            deliveries=message.deliveries,
            reader_losses=message.losses,
            reason=reason,
        )
        self._events += (event,)  # in one step with the count, for `take`
        self.count += 1
        self._unsaid.setdefault(reason, []).append(message)

    def say(self) -> None:
        """Log them, in one line for each reason."""
        unsaid, self._unsaid = self._unsaid, {}
        for reason, messages in unsaid.items():
            are = "is" if len(messages) == 1 else "are"
            text = "%s: %s %s not sent again: %s"
            self._later.add(logging.ERROR, text, self._title, named(messages), are, reason)

    def take(self) -> list[Unfinished]:
        """Those since the last call, oldest first; at most the last 1024."""
        events = [*self._events]
        # In one step with the line above: no other thread and no signal handler runs.
        self._events *= 0
        self._told = self.count
        return events

    def loss(self, sent: int, channel: str) -> MessagesLost | None:
        """The error of a block that ends though :meth:`take` has not told all; None: it has.

        Args:
            sent: how many messages were sent.
            channel: to which.
        """
        untold = self.count - self._told
        if not untold:
            return None
        first = self._events[0]
        return MessagesLost(
            f"{self._title}: {untold} of {sent} messages were not acknowledged and are not sent "
            f"again, the first one is {first.number}: {first.reason}",
            hint="events() lists them; in the block, before its end, it makes them no error",
            channel=channel,
        )
