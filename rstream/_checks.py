"""Checks of arguments whose wrong type would fail later, in other words, or not at all."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Final

from rstream.errors import ConfigError

__all__ = (
    "check_function",
    "check_publisher",
    "check_seconds",
    "check_stream_id",
    "check_subscriber",
    "check_subscription",
    "check_timeout",
    "is_whole",
    "short",
)

_SIGNALS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")
_CALLS: Final = ("request", "cancel")
_INT32: Final = range(-(2**31), 2**31)


def short(value: object) -> str:
    """The ``repr`` of a value for an error text: at most 80 characters, and its closing quote or
    bracket.
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:78]}…{text[-1]}"


def is_whole(value: object) -> bool:
    """Whether it is an int, of Python or of numpy, and no bool."""
    return type(value) is not bool and isinstance(value, (int, Integral))


def check_seconds(name: str, value: object) -> None:
    """Refuse what is no number of seconds, 0 or more; a wait until nan would never end.

    Raises:
        ConfigError: no number, nan, or negative.
    """
    if not isinstance(value, (float, int, Real)) or math.isnan(value):
        raise ConfigError(f"{name}={value!r}: must be a number of seconds")
    if value < 0:
        raise ConfigError(
            f"{name}={value!r}: must be a number of seconds, 0 or more",
            hint="of a deadline that may be over, give max(0.0, deadline_s - time.monotonic())",
        )


def check_timeout(timeout_s: object) -> None:
    """Refuse what is neither None nor a number of seconds.

    Raises:
        ConfigError: as :func:`check_seconds`.
    """
    if timeout_s is not None:
        check_seconds("timeout_s", timeout_s)


def check_stream_id(value: object) -> None:
    """Refuse what is no stream id.

    Raises:
        ConfigError: no whole number, or outside its limits.
    """
    if not is_whole(value) or value not in _INT32:
        raise ConfigError(f"stream_id={value!r}: must be a whole number of 32 bits with sign")


def check_function(where: str, value: object) -> None:
    """Refuse what cannot be called.

    Args:
        where: the call and the argument.

    Raises:
        TypeError: says what it must be.
    """
    if not callable(value):
        raise TypeError(f"{where}={value!r}: must be a function")


def check_publisher(where: str, value: object) -> None:
    """Refuse what is no Reactive Streams publisher.

    Args:
        where: the call.

    Raises:
        TypeError: a class, an object without ``subscribe``, or an Observable.
    """
    if any(base.__module__.partition(".")[0] == "reactivex" for base in type(value).__mro__):
        raise TypeError(
            f"{where}: an Observable of RxPY is not a publisher, which keeps to request(n); make "
            "one of it: observable.pipe(rstream.rx.to_publisher(256))"
        )
    if isinstance(value, type) or _missing(value, ("subscribe",)):
        raise TypeError(
            f"{where}({value!r}): not a publisher, which is an object with subscribe(subscriber), "
            "such as rstream.stream.source(name)"
        )


def check_subscriber(value: object) -> None:
    """Refuse what is no Reactive Streams subscriber.

    Raises:
        TypeError: None (§1.9), a class, or an object that lacks a signal. It says which one.
    """
    if value is None:
        raise TypeError("§1.9: the subscriber must not be None")
    if isinstance(value, type):
        raise TypeError(f"subscribe({value.__name__}): a class; give an object: {value.__name__}()")
    missing = _missing(value, _SIGNALS)
    if not missing:
        return
    if callable(getattr(value, "sink", None)):
        what_next = "for a merge_hub: .subscribe(hub.sink())"
    else:
        what_next = "give an rstream.abc.Subscriber"
    raise TypeError(
        f"subscribe({value!r}): not a subscriber, it has no {', '.join(missing)}; {what_next}"
    )


def check_subscription(value: object) -> None:
    """Refuse what is no Reactive Streams subscription, in ``on_subscribe``.

    Raises:
        TypeError: None (§2.13), a class, or an object that lacks a method. It says which one.
    """
    if value is None:
        raise TypeError("§2.13: on_subscribe(None)")
    if isinstance(value, type):
        raise TypeError(
            f"on_subscribe({value.__name__}): a class; give an object: {value.__name__}()"
        )
    if missing := _missing(value, _CALLS):
        raise TypeError(
            f"on_subscribe({value!r}): not a subscription, it has no {', '.join(missing)}; give an "
            "rstream.abc.Subscription, or leave this call to publisher.subscribe(subscriber)"
        )


def _missing(value: object, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not callable(getattr(value, name, None))]
