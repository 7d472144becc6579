"""A scenario of the user's own, in TOML:

    seconds = 20
    # Optional, as all other keys except receivers.
    rtt_ms = 1.0
    buffer_mib = 4
    loss = 0.001
    link_mb_s = 1000
    # Use queues without payload. Otherwise up to 16 receivers are real media drivers.
    queues = true
    # Run in real time on the loopback interface, whose round trip and link replace
    # rtt_ms and link_mb_s.
    real = true
    # The laws to compare.
    laws = ["adaptive", "credit"]
    # Parameters of a law, as its report prints them.
    [parameters.adaptive]
    target_delay_ns = 10e6

    [[receivers]]
    # So many receivers with these values.
    count = 3
    # Or [[0, 100], [5, 40]]: pairs of second and MB/s; or trace = "file".
    capacity_mb_s = 100
    noise = 0.15
    # Pairs of start and length, in seconds.
    pauses = [[3.0, 0.2]]
    # Or hangs_s, with evict_after_s.
    dies_s = 8.0

The top of ``trace.py`` describes a trace file. Its path is relative to the scenario file.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from rstream.errors import ConfigError
from rstream.lab.scenario import LAWS, MB, Consumer, Law, Scenario, Sender, group
from rstream.lab.trace import Levels, read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ("load",)

_TOP: Final = (
    "name",
    "seconds",
    "rtt_ms",
    "buffer_mib",
    "loss",
    "control_loss",
    "link_mb_s",
    "app_mb_s",
    "mtu",
    "receiver_timeout_s",
    "queues",
    "real",
    "laws",
    "parameters",
    "receivers",
)
_RECEIVER: Final = (
    "count",
    "capacity_mb_s",
    "trace",
    "noise",
    "noise_ms",
    "pauses",
    "dies_s",
    "hangs_s",
    "evict_after_s",
)
_RECEIVERS_MAX: Final = 4000


class _Table:
    """A TOML table; its errors name the file, the table and the key."""

    def __init__(
        self, path: Path, where: str, values: Mapping[str, Any], known: tuple[str, ...]
    ) -> None:
        self.path, self.where, self.values = path, where, values
        if unknown := sorted(values.keys() - set(known)):
            raise ConfigError(
                f"{path}: {where}unknown key {unknown[0]!r}; there are {', '.join(known)}"
            )

    def wrong(self, key: str, expected: str) -> ConfigError:
        return ConfigError(
            f"{self.path}: {self.where}{key} is {self.values.get(key)!r}, must be {expected}"
        )

    def number(self, key: str, default: float | None, least: float, most: float) -> float:
        value = self.values.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            if value is None:
                raise ConfigError(
                    f"{self.path}: {self.where}{key} is missing: a number, {least:g} to {most:g}"
                )
            if not (default is not None and value == default):
                raise self.wrong(key, f"a number, {least:g} to {most:g}")
        return float(cast("float", value))

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def pairs(self, key: str) -> tuple[tuple[float, float], ...]:
        """A list of [second, value], ordered and not negative."""
        value = self.values.get(key, [])
        expected = "a list of pairs [second, number] in the order of time"
        if not isinstance(value, list):
            raise self.wrong(key, expected)
        found: list[tuple[float, float]] = []
        for entry in cast("list[Any]", value):
            pair = cast("list[Any]", entry) if isinstance(entry, list) else []
            if len(pair) != 2 or not all(
                isinstance(part, int | float) and part >= 0 for part in pair
            ):
                raise self.wrong(key, expected)
            found.append((float(pair[0]), float(pair[1])))
        if found != sorted(found, key=lambda pair: pair[0]):
            raise self.wrong(key, expected)
        return tuple(found)


def _levels(table: _Table) -> Levels:
    has_trace, capacity = "trace" in table.values, table.values.get("capacity_mb_s")
    if has_trace == (capacity is not None):
        raise ConfigError(f"{table.path}: {table.where}give either capacity_mb_s or trace")
    if has_trace:
        name = table.values["trace"]
        if not isinstance(name, str):
            raise table.wrong("trace", "the name of a file")
        return read(table.path.parent / name)
    if isinstance(capacity, list):
        pairs = table.pairs("capacity_mb_s")
        if not pairs:
            raise table.wrong(
                "capacity_mb_s", "a number or a list of pairs [second, MB/s] that is not empty"
            )
        return tuple((at_s, rate * MB) for at_s, rate in pairs)
    return ((0.0, table.number("capacity_mb_s", None, 0.001, 1e6) * MB),)


def _receivers(path: Path, values: object) -> tuple[Consumer, ...]:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{path}: at least one [[receivers]] is needed")
    found: list[Consumer] = []
    for number, entry in enumerate(cast("list[Any]", values)):
        if not isinstance(entry, dict):
            raise ConfigError(
                f"{path}: receivers {number} is {entry!r}, must be a table [[receivers]]"
            )
        table = _Table(path, f"receivers {number}: ", cast("Mapping[str, Any]", entry), _RECEIVER)
        consumer = Consumer(
            levels=_levels(table),
            noise=table.number("noise", 0.0, 0, 10),
            noise_s=table.number("noise_ms", 10.0, 0.1, 1e4) / 1e3,
            pauses=table.pairs("pauses"),
            dies_s=table.number("dies_s", math.inf, 0, 1e6),
            hangs_s=table.number("hangs_s", math.inf, 0, 1e6),
            evict_after_s=table.number("evict_after_s", math.inf, 0.001, 1e6),
        )
        count = table.number("count", 1, 1, _RECEIVERS_MAX)
        if count != int(count):
            raise table.wrong("count", "a whole number")
        found.extend([consumer] * int(count))
    if len(found) > _RECEIVERS_MAX:
        raise ConfigError(f"{path}: {len(found)} receivers, at most {_RECEIVERS_MAX}")
    return tuple(found)


def _laws(top: _Table) -> tuple[Law, ...]:
    names, parameters = (
        top.values.get("laws", ["adaptive", "credit"]),
        top.values.get("parameters", {}),
    )
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(name, str) and name in LAWS for name in cast("list[Any]", names))
    ):
        raise top.wrong("laws", f"a list out of {', '.join(LAWS)}")
    if not isinstance(parameters, dict):
        raise top.wrong("parameters", "tables [parameters.LAW]")
    tables = cast("Mapping[str, Any]", parameters)
    for law, table in tables.items():
        if law not in LAWS or not isinstance(table, dict):
            raise ConfigError(
                f"{top.path}: parameters.{law}: no such law; there are {', '.join(LAWS)}"
            )
        for key, value in cast("Mapping[str, Any]", table).items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(
                    f"{top.path}: parameters.{law}.{key} is {value!r}, must be a number"
                )
    return tuple(
        Law(name, {key: float(value) for key, value in tables.get(name, {}).items()})
        for name in cast("list[str]", names)
    )


def load(path: Path) -> tuple[Scenario, tuple[Law, ...]]:
    """Read a scenario and the laws to run it under from a TOML file.

    Raises:
        ConfigError: the file is wrong; the text names the file, the key and the valid values.
    """
    try:
        values = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"scenario {path}: {error}") from None
    top = _Table(path, "", values, _TOP)
    sender = Sender(
        rtt_s=top.number("rtt_ms", 1.0, 0.001, 1e4) / 1e3,
        link_rate=top.number("link_mb_s", 1000.0, 0.01, 1e6) * MB,
        loss=top.number("loss", 0.0, 0, 0.9),
        control_loss=top.number("control_loss", 0.0, 0, 1),
        app_rate=top.number("app_mb_s", 0.0, 0, 1e6) * MB,
        mtu=int(top.number("mtu", 1408, 64, 65504)),
        receiver_timeout_s=top.number("receiver_timeout_s", 5.0, 0.001, 1e3),
    )
    consumers = _receivers(path, values.get("receivers"))
    scenario = group(
        str(values.get("name", path.stem)),
        top.number("seconds", None, 0.01, 3600),
        consumers,
        sender=sender,
        buffer_bytes=top.number("buffer_mib", 4.0, 0.01, 470) * (1 << 20),
        step_s=5e-4 if len(consumers) > 100 else 1e-4,
    )
    return replace(scenario, queues=top.flag("queues"), real=top.flag("real")), _laws(top)
