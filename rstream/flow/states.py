"""States of a demand subscription, and which signal is legal in which: one table (§1.6, §1.7,
§3.6, §3.7).

    NEW ──on_subscribe──▶ ACTIVE ──on_next──▶ ACTIVE
                            ├──on_complete──▶ COMPLETED
                            ├──on_error─────▶ FAILED
                            └──cancel───────▶ CANCELLED

The three on the right are terminal: no signal leaves them, ``cancel`` and ``request`` there do
nothing.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

__all__ = ("Signal", "State", "next_state")


class State(Enum):
    """Where a subscription is in its life."""

    NEW = auto()
    ACTIVE = auto()
    COMPLETED = auto()
    FAILED = auto()
    CANCELLED = auto()

    @property
    def is_terminal(self) -> bool:
        """Whether nothing may be signalled any more."""
        return self in _TERMINAL


class Signal(Enum):
    """A signal to the subscriber, or a call of it."""

    ON_SUBSCRIBE = auto()
    ON_NEXT = auto()
    ON_COMPLETE = auto()
    ON_ERROR = auto()
    REQUEST = auto()
    CANCEL = auto()


_TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})

_TABLE: Final[dict[State, dict[Signal, State]]] = {
    State.NEW: {Signal.ON_SUBSCRIBE: State.ACTIVE, Signal.CANCEL: State.CANCELLED},
    State.ACTIVE: {
        Signal.ON_NEXT: State.ACTIVE,
        Signal.REQUEST: State.ACTIVE,
        Signal.ON_COMPLETE: State.COMPLETED,
        Signal.ON_ERROR: State.FAILED,
        Signal.CANCEL: State.CANCELLED,
    },
    State.COMPLETED: {},
    State.FAILED: {},
    State.CANCELLED: {},
}


def next_state(state: State, signal: Signal) -> State | None:
    """The state after ``signal``. None: a signal must not be sent now, a call does nothing."""
    return _TABLE[state].get(signal)
