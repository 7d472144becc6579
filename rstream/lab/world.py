"""Where an experiment takes place, and how large it is there: what a receiver can take, and all that goes with it.

In virtual time the media drivers themselves carry out what has up to 16 receivers; beyond, and where it is wanted, the queue engine does.

The experiments are written for 100 MB/s. On real sockets one thread carries every driver of a run, so the capacity is what this machine can carry, and
buffers and the laws' parameters in bytes shrink with it: their times (B/c, the windows) stay.

A driver drops what lies half a term beyond what was consumed, and terms are powers of two: only of such a buffer nothing more is taken than it holds. So the
capacity is 100 MB/s over a power of two, and an experiment that needs a buffer of another length takes the power of two below it, with less capacity.
So it does in virtual time, by drivers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rstream.errors import ConfigError
from rstream.lab.engine import run
from rstream.lab.measure import mean_rate, quantile
from rstream.lab.scenario import BUFFER, MB, Consumer, Law, Scenario, Sender, group

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("AGENTS_MOST", "FULL", "QUEUES", "STEP_S", "VIRTUAL", "World", "fitting", "measured")

#: What the experiments are written for: bytes per second.
FULL: Final = 100 * MB
#: Receivers that real agents carry in virtual time; the queue engine is held against them at eight (tests/lab/test_agents.py).
AGENTS_MOST: Final = 16
#: Of the measured rate; the rest is for bursts, repairs, and what else the machine does.
SHARE: Final = 1 / 3
LEAST: Final = FULL / 64
#: How long the thread that carries all drivers takes to come round, in nearly all steps: one that takes longer is late.
STEP_S: Final = 0.0005
#: What drivers find a round trip of 1 ms to be in virtual time, where a step is 0.05 ms.
VIRTUAL_RTT_S: Final = 0.00105
#: In a buffer so short W is as long as the round trip that drivers find.
_SHORT_BUFFER_S: Final = 0.0025
_BUFFER_LEAST: Final = 65536
_HALF_TERM_LEAST: Final = 32768
#: A buffer may be so much shorter than that: it gets as much more capacity instead.
_SHORT: Final = 0.8
_SCALED: Final = frozenset({"initial", "most", "increase", "buffer_bytes"})
_MEASURED_S: Final = 1.0
_SETTLED_S: Final = 0.3
_RMEM_MAX: Final = Path("/proc/sys/net/core/rmem_max")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """``engine``: who carries it out; ``sockets`` in real time, the others in virtual time. ``full``: what a receiver can take, in bytes per second.
    ``carried``: what each one got of an unlimited run, 0 in virtual time. ``later_s``: by how much longer drivers find the round trip than in virtual time."""

    engine: Literal["agents", "queues", "sockets"] = "agents"
    full: float = FULL
    rtt_s: float = 1e-3
    carried: float = 0.0
    later_s: float = 0.0

    @property
    def is_real(self) -> bool:
        """In real time."""
        return self.engine == "sockets"

    @property
    def scale(self) -> float:
        return self.full / FULL

    def buffer(self, size: float = BUFFER) -> float:
        """A buffer that lasts as long here as this one at 100 MB/s, in whole KiB."""
        return (
            size
            if self.scale == 1
            else max(_BUFFER_LEAST, round(size * self.scale / 1024) * 1024.0)
        )

    def holds(self, size: float) -> bool:
        """Whether a driver takes no more than a buffer of that size, given its exact length."""
        return self.engine == "queues" or size >= _SHORT * _HALF_TERM_LEAST

    def must_hold(self, sizes: Mapping[str, float]) -> None:
        """Raises where a driver takes more than one of these buffers, so that nothing would be said of it."""
        for what, size in sizes.items():
            if not self.holds(size):
                raise ConfigError(
                    f"at {self.full / 1e6:g} MB/s a receiver the buffer of {what} has {size / 1e3:.0f} kB, and a driver takes {_HALF_TERM_LEAST / 1e3:.0f} at least: "
                    "the machine carries too little just now, or net.core.rmem_max is too small"
                )

    def exact(self, size: float) -> tuple[World, float]:
        """A world and a buffer in it that last as long as this one here, and of which a driver takes no more than it holds. As they are where half of
        the shortest term is longer by a quarter and more."""
        if self.engine == "queues" or not self.holds(size):
            return self, size
        power = max(2.0 ** math.floor(math.log2(size)), _HALF_TERM_LEAST)
        return replace(self, full=self.full * power / size), power

    @property
    def found_rtt_s(self) -> float:
        """The round trip that the law goes by: what X is about where buffers are small."""
        return self.rtt_s + self.later_s

    def law(self, law: Law) -> Law:
        """The law with its rates and its bytes in proportion."""
        if self.scale == 1:
            return law
        return replace(
            law,
            parameters={
                name: float(round(value * self.scale)) if name in _SCALED else value
                for name, value in law.parameters.items()
            },
        )

    def place(self, scenario: Scenario) -> Scenario:
        """The scenario where this world is."""
        if self.is_real:
            return replace(scenario, real=True)
        by_agents = (
            self.engine == "agents" and len(scenario.images) <= AGENTS_MOST and not scenario.queues
        )
        return replace(scenario, agents=True) if by_agents else scenario


VIRTUAL: Final = World()
QUEUES: Final = World(engine="queues")


def fitting(carried: float, buffer_most: float, socket_most: float) -> World:
    """100 MB/s over a power of two: at most a third of what each receiver got, and so that the experiment's largest buffer fits into a socket."""
    full = FULL
    while full > LEAST and (full > carried * SHARE or buffer_most * full / FULL > socket_most):
        full /= 2
    return World(engine="sockets", full=full, carried=carried)


def measured(receivers: int, buffer_most: float) -> World:
    """What this machine carries now: an unlimited run of a second to so many receivers."""
    socket_most = float(_RMEM_MAX.read_text())
    unlimited = Consumer(levels=((0.0, 1e12),))
    world = group(
        "calibration",
        _MEASURED_S,
        (unlimited,) * receivers,
        buffer_bytes=min(BUFFER, socket_most),
        drain_s=0.1,
    ).under(Law("credit"))
    outcome = run(replace(world, real=True), 1)
    found = fitting(
        mean_rate(outcome, "delivered_least", _SETTLED_S, _MEASURED_S - 0.01),
        buffer_most,
        socket_most,
    )
    return replace(found, later_s=_later_s(found, receivers))


def _later_s(world: World, receivers: int) -> float:
    """The loopback, and the thread that comes round to five drivers in turn: in a short buffer the law's W says what they make of the round trip."""
    where, size = world.exact(_SHORT_BUFFER_S * world.full)
    noisy = Consumer(levels=((0.0, where.full),), noise=0.15)
    scenario = group(
        "round trip",
        _MEASURED_S,
        (noisy,) * receivers,
        buffer_bytes=size,
        drain_s=0.1,
        step_s=5e-5,
        sender=Sender(rtt_s=world.rtt_s),
    )
    outcome = run(replace(scenario.under(where.law(Law("adaptive"))), real=True), 1)
    windows = outcome.sender("window_ns")[
        outcome.index(_SETTLED_S) : outcome.index(_MEASURED_S - 0.01)
    ]
    return max(0.0, quantile(windows, 0.5) / 1e9 - VIRTUAL_RTT_S)
