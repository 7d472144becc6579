"""A mark on the errors that pass."""

from __future__ import annotations

from typing import Generic, TypeVar

from rstream import abc
from rstream._checks import check_subscriber
from rstream.stages._link import refuse_none

T = TypeVar("T")


class Checkpoint(abc.Publisher[T], Generic[T]):
    """Passes everything on, and notes its name on an error."""

    def __init__(self, upstream: abc.Publisher[T], name: str) -> None:
        self._upstream = upstream
        self._name = name

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        check_subscriber(subscriber)
        self._upstream.subscribe(_Marking(subscriber, self._name))

    def __repr__(self) -> str:
        return f"<rstream stage checkpoint {self._name!r} behind {self._upstream!r}>"


class _Marking(abc.Subscriber[T], Generic[T]):
    """Demand does not pass through it: downstream has the subscription of upstream itself."""

    def __init__(self, downstream: abc.Subscriber[T], name: str) -> None:
        self._note = f"passed checkpoint {name!r}"
        self._downstream = downstream

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        self._downstream.on_subscribe(subscription)

    def on_next(self, item: T) -> None:
        self._downstream.on_next(item)

    def on_complete(self) -> None:
        self._downstream.on_complete()

    def on_error(self, error: Exception) -> None:
        refuse_none(error, "on_error")
        # One error may reach several subscribers of one checkpoint: it is marked once.
        if self._note not in getattr(error, "__notes__", ()):
            error.add_note(self._note)
        self._downstream.on_error(error)
