"""Rate laws: how fast a publisher may send, even when its readers have room for more.

    rstream.publisher("md", rate=rate.Fixed("200MB/s"))
    rstream.publisher("md", rate=rate.Adaptive(target_delay_s=0.005))
    rstream.publisher("md", rate=rate.Nak())              # as fill NAKs say, by steps
    rstream.publisher("md", rate=rate.Aimd())             # like TCP
    rstream.publisher("md", rate=rate.Unlimited())        # the window alone
    rstream.publisher("md", rate=rate.Default())          # what the driver's option rate says
    rate.from_text(rate.Fixed("200MB/s").to_text())       # the law of a text
    rate.parse_bytes_per_s("200MB/s")                     # 200000000

A law is a value. The media driver runs it. It travels as text in the channel's key ``rs-rate``, so
that a handle or a Spark option can carry it: :meth:`to_text` writes the text, :func:`from_text`
reads it. docs/how-to/rates.md explains the laws and which one to choose.

Rates are bytes of the stream per second: messages with headers and padding, on the network also
retransmissions. A rate is a number, or a text such as ``"200MB/s"`` (1000) or ``"64KiB/s"`` (1024).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rstream.errors import ConfigError

__all__ = (
    "Adaptive",
    "Aimd",
    "Default",
    "Fixed",
    "Nak",
    "RateLimit",
    "Unlimited",
    "from_text",
    "parse_bytes_per_s",
)

_UNITS: Final = {
    "": 1,
    "k": 1_000,
    "m": 1_000_000,
    "g": 1_000_000_000,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
}
_TEXT: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(|k|m|g|ki|mi|gi)b(?:/s)?\s*", re.IGNORECASE)
_MOST: Final = 10**12
_TRIGGERS_MAX: Final = 8
_TEXT_MAX: Final = 255


def parse_bytes_per_s(value: str | float) -> int:
    """Bytes per second of ``"200MB/s"``, ``"1.5 GiB/s"`` or a number, rounded to an integer.

    Raises:
        ConfigError: the text cannot be read, or the rate is not 1 to 10**12.
    """
    number: float
    if isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match is None:
            raise ConfigError(
                f"rate {value!r}: give bytes per second as a number or as a text like "
                '"200MB/s" or "64KiB/s"'
            )
        number = float(match[1]) * _UNITS[match[2].lower()]
    else:
        is_number = isinstance(value, int | float)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not is_number or isinstance(value, bool):
            raise ConfigError(f"rate {value!r}: must be a number or a text")
        number = value
    if not 1 <= number <= _MOST:
        raise ConfigError(
            f"rate {value!r}: must be 1 to 10**12 bytes per second; without a limit: Unlimited()"
        )
    return round(number)


def _set(law: object, field: str, value: object) -> None:
    object.__setattr__(law, field, value)


def _name(law: object, field: str) -> str:
    return f"rate.{type(law).__name__}({field}={getattr(law, field)!r})"


def _set_rates(law: Adaptive | Nak | Aimd) -> None:
    """Turn texts into numbers, and refuse rates that contradict each other."""
    for field in ("initial_bytes_per_s", "least_bytes_per_s", "most_bytes_per_s"):
        value = getattr(law, field)
        if value is not None:
            _set(law, field, parse_bytes_per_s(value))
    initial, least, most = law.initial_bytes_per_s, law.least_bytes_per_s, law.most_bytes_per_s
    in_order = [value for value in (least, initial, most) if value is not None]
    if in_order != sorted(in_order, key=float):
        raise ConfigError(
            f"{law!r}: must be least_bytes_per_s <= initial_bytes_per_s <= most_bytes_per_s"
        )


def _rates_text(law: Adaptive | Nak | Aimd) -> str:
    rates = (
        ("i", law.initial_bytes_per_s),
        ("l", law.least_bytes_per_s),
        ("m", law.most_bytes_per_s),
    )
    return "".join(f",{key}:{value}" for key, value in rates if value is not None)


def _check_seconds(law: object, field: str, least_s: float) -> None:
    value = getattr(law, field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least_s <= value <= 10:
        raise ConfigError(f"{_name(law, field)}: must be {least_s:g} to 10 seconds")


def _check_share(law: object, field: str) -> None:
    value = getattr(law, field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ConfigError(f"{_name(law, field)}: must be 0 to 1")


def _percent(share: float) -> str:
    """Shares as the driver reads them: ``0.025`` is ``2.5``; finer than 10**-12 is rounded off."""
    text = f"{share * 100:.10f}"
    return text.rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Default:
    """What :func:`rstream.publisher` uses when no rate is given.

    It is the driver's option ``rate`` where that is set, else ``Adaptive()``. Beside an Aeron
    driver it is ``Unlimited()``.
    """

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        return "default"


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No limit but the window: the room that the readers have."""

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        return "unlimited"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed rate: bytes per second, datagrams per second, or both.

    ``Publisher.set_rate`` changes it. Bursts are 2 ms of the rate on the network and 10 ms in
    shared memory, and at least four datagrams.

    Attributes:
        bytes_per_s: a number, or a text like ``"200MB/s"``; None: no limit on bytes.
        datagrams_per_s: UDP datagrams with retransmissions, an integer; 0: no limit. In shared
            memory it limits the bytes that so many datagrams could carry.
    """

    bytes_per_s: str | float | None = None
    datagrams_per_s: int = 0

    def __post_init__(self) -> None:
        """Read the rate now, so that a wrong one is refused where it is written."""
        if self.bytes_per_s is not None:
            _set(self, "bytes_per_s", parse_bytes_per_s(self.bytes_per_s))
        count = self.datagrams_per_s
        is_number = isinstance(count, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not is_number or isinstance(count, bool) or not 0 <= count <= _MOST:
            raise ConfigError(f"rate {_name(self, 'datagrams_per_s')}: must be 0 to 10**12")
        if self.bytes_per_s is None and count == 0:
            raise ConfigError("rate.Fixed(): give bytes_per_s or datagrams_per_s")

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        by_bytes = "" if self.bytes_per_s is None else f",r:{self.bytes_per_s}"
        return f"fixed{by_bytes}" + (f",p:{self.datagrams_per_s}" if self.datagrams_per_s else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Follow the readers: slow down when a buffer fills, rise to the speed of the slowest.

    Attributes:
        target_delay_s: how long a message may wait in a reader's buffer, above 0 to 10 seconds.
        initial_bytes_per_s: the first rate; None: as much as a reader's buffer can take before its
            first report arrives.
        least_bytes_per_s: lower limit; None: 4 KiB/s, or a smaller initial or most.
        most_bytes_per_s: upper limit; None: none.
    """

    target_delay_s: float = 0.010
    initial_bytes_per_s: str | float | None = None
    least_bytes_per_s: str | float | None = None
    most_bytes_per_s: str | float | None = None

    def __post_init__(self) -> None:
        """Refuse the values that the driver would refuse."""
        _check_seconds(self, "target_delay_s", 1e-9)
        _set_rates(self)

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        return f"adaptive,d:{round(self.target_delay_s * 1e9)}ns{_rates_text(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nak:
    """The original fill-NAK proposal: cut by how full a buffer is, then rise in growing steps.

    Attributes:
        window_s: within this time only the deepest cut counts; after it, without a report, the rate
            steps up. 0.001 to 10 seconds.
        triggers: fill levels of a reader's buffer that cut the rate, 1 to 8 rising numbers above 0
            and up to 1.
        cuts: for each trigger the share of the rate that is cut off, above 0 and up to 1.
        step: first step upward, as a share of the highest recent rate, 0 to 1.
        initial_bytes_per_s: the first rate; None: the highest rate allowed.
        least_bytes_per_s, most_bytes_per_s: as for :class:`Adaptive`.
    """

    window_s: float = 0.050
    triggers: tuple[float, ...] = (0.5, 0.75, 0.87, 1.0)
    cuts: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75)
    step: float = 0.01
    initial_bytes_per_s: str | float | None = None
    least_bytes_per_s: str | float | None = None
    most_bytes_per_s: str | float | None = None

    def __post_init__(self) -> None:
        """Refuse the values that the driver would refuse."""
        _check_seconds(self, "window_s", 0.001)
        _check_share(self, "step")
        for field in ("triggers", "cuts"):
            shares: tuple[float, ...] = tuple(getattr(self, field))
            _set(self, field, shares)
            if not 1 <= len(shares) <= _TRIGGERS_MAX or not all(1e-9 <= s <= 1 for s in shares):
                raise ConfigError(f"{_name(self, field)}: must be 1 to 8 shares, above 0 to 1")
        if len(self.triggers) != len(self.cuts):
            raise ConfigError(
                f"{_name(self, 'cuts')}: one for each of {len(self.triggers)} triggers"
            )
        texts = [_percent(share) for share in self.triggers]
        if any(float(b) <= float(a) for a, b in itertools.pairwise(texts)):
            raise ConfigError(f"{_name(self, 'triggers')}: must rise")
        _set_rates(self)
        if len(self.to_text()) > _TEXT_MAX:
            raise ConfigError(f"{self!r}: as text longer than {_TEXT_MAX} bytes; give fewer digits")

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        triggers, cuts = ("/".join(map(_percent, shares)) for shares in (self.triggers, self.cuts))
        return (
            f"nak,w:{round(self.window_s * 1e9)}ns,t:{triggers},c:{cuts},s:{_percent(self.step)}"
            f"{_rates_text(self)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimd:
    """Additive increase, multiplicative decrease: the baseline.

    Attributes:
        increase_bytes_per_s: added each round (the round trip, at least 10 ms) without a report.
        decrease: the rate is multiplied by this after a report, 0 to 1, once per round.
        initial_bytes_per_s: the first rate; None: the least.
        least_bytes_per_s, most_bytes_per_s: as for :class:`Adaptive`.
    """

    increase_bytes_per_s: str | float = 1_000_000
    decrease: float = 0.5
    initial_bytes_per_s: str | float | None = None
    least_bytes_per_s: str | float | None = None
    most_bytes_per_s: str | float | None = None

    def __post_init__(self) -> None:
        """Refuse the values that the driver would refuse."""
        _set(self, "increase_bytes_per_s", parse_bytes_per_s(self.increase_bytes_per_s))
        _check_share(self, "decrease")
        _set_rates(self)

    def to_text(self) -> str:
        """The value of ``rs-rate``."""
        percent = _percent(self.decrease)
        return f"aimd,a:{self.increase_bytes_per_s},b:{percent}{_rates_text(self)}"


RateLimit: TypeAlias = Default | Unlimited | Fixed | Adaptive | Nak | Aimd

_SIZE: Final = re.compile(r"([0-9]{1,18})([kmg]?)", re.IGNORECASE)
_FACTOR: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DURATION: Final = re.compile(r"([0-9]{1,18})(s|ms|us|ns|)", re.IGNORECASE)
_NS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "": 1}
_PERCENT: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]+)?")


def _size(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    return None if match is None else int(match[1]) * _FACTOR[match[2].lower()]


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _seconds(text: str) -> float | None:
    match = _DURATION.fullmatch(text)
    return None if match is None else int(match[1]) * _NS[match[2].lower()] / 1e9


def _share(text: str) -> float | None:
    return (
        float(f"{text}e-2") if _PERCENT.fullmatch(text) else None
    )  # a division by 100 would round


def _shares(text: str) -> tuple[float, ...] | None:
    shares = [_share(part) for part in text.split("/")]
    return None if None in shares else tuple(share for share in shares if share is not None)


_Reader: TypeAlias = Callable[[str], object]

_LIMITS: Final[dict[str, tuple[str, _Reader]]] = {
    "i": ("initial_bytes_per_s", _size),
    "l": ("least_bytes_per_s", _size),
    "m": ("most_bytes_per_s", _size),
}
#: Law and keys by name, as transport_ext/flow/rate_text.h has them.
_LAWS: Final[dict[str, tuple[Callable[..., RateLimit], dict[str, tuple[str, _Reader]]]]] = {
    "default": (Default, {}),
    "unlimited": (Unlimited, {}),
    "fixed": (Fixed, {"r": ("bytes_per_s", _size), "p": ("datagrams_per_s", _count)}),
    "adaptive": (Adaptive, {**_LIMITS, "d": ("target_delay_s", _seconds)}),
    "nak": (
        Nak,
        {
            **_LIMITS,
            "w": ("window_s", _seconds),
            "t": ("triggers", _shares),
            "c": ("cuts", _shares),
            "s": ("step", _share),
        },
    ),
    "aimd": (Aimd, {**_LIMITS, "a": ("increase_bytes_per_s", _size), "b": ("decrease", _share)}),
}


def from_text(text: str) -> RateLimit:
    """The law of a value of ``rs-rate``, such as ``"fixed,r:200m"``.

    Raises:
        ConfigError: the text cannot be read; the error names the wrong part.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f'rs-rate={text!r}: must be a text, such as "fixed,r:200m"')
    name, *items = text.split(",")
    if name not in _LAWS:
        raise ConfigError(
            f"rs-rate={text}: {name!r} is no law of rate: there are {', '.join(_LAWS)}"
        )
    law, keys = _LAWS[name]
    fields: dict[str, object] = {}
    for item in items:
        key, colon, value = item.partition(":")
        if not colon or key not in keys:
            known = " ".join(f"{key}:" for key in keys) or "none"
            raise ConfigError(f"rs-rate={text}: {item!r} is not one of the keys of {name}: {known}")
        field, read = keys[key]
        if field in fields:
            raise ConfigError(f"rs-rate={text}: {item!r} is given twice")
        number = read(value)
        if number is None or (key == "p" and number == 0):
            raise ConfigError(f"rs-rate={text}: {item!r} cannot be read")
        fields[field] = number
    try:
        return law(**fields)
    except ConfigError as error:
        raise ConfigError(f"rs-rate={text}: {error}") from None
