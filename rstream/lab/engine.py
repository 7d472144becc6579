"""The border to the C engines: a scenario becomes records, samples become columns.

Records, samples and results are rows of float64.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from array import array
from functools import cache
from typing import Final

from rstream.errors import ConfigError
from rstream.lab import _lab
from rstream.lab.reaction import DETECT_S, TARGET_DELAY_S
from rstream.lab.scenario import FORGERIES, LAWS, Scenario, Sender

__all__ = ("Records", "Run", "ns", "run")

_NEVER_NS: Final = 9e15
_RATES: Final = ("adaptive", "nak", "fixed", "aimd", "unlimited")
_FCS: Final = ("max", "min")
_CONGESTIONS: Final = ("static", "cubic", "auto")
#: Fields of records that neither scenario nor law sets; the defaults of the C laws.
_SENDER_DEFAULTS: Final = {
    "initial": 0.0,
    "most": 0.0,
    "floor_share": 0.05,
    "target_delay_ns": TARGET_DELAY_S * 1e9,
    "detect_ns": round(DETECT_S * 1e9),
    "window_ns": 50e6,
    "step_share": 0.01,
    "cut50": 0.1,
    "cut75": 0.25,
    "cut87": 0.5,
    "cut100": 0.75,
    "increase": 1e6,
    "decrease": 0.5,
}
_IMAGE_DEFAULTS: Final = {
    "cubic_rtt_ns": 1e5,
    "cubic_tcp": 0.0,
    "target_delay_ns": TARGET_DELAY_S * 1e9,
}
#: Columns time_s and gap_s at the front of each row (transport_ext/lab/samples.h).
_TIME_WIDTH: Final = 2


@cache
def _kinds() -> dict[str, tuple[int, tuple[str, ...]]]:
    return {
        name: (number, tuple(field for field, _, _ in fields))
        for number, (name, fields) in enumerate(_lab.records())
    }


def ns(seconds: float) -> float:
    """A time as records have it."""
    return _NEVER_NS if math.isinf(seconds) else round(seconds * 1e9)


class Records:
    """Records of a run, one after the other."""

    def __init__(self) -> None:
        self.values: array[float] = array("d")

    def add(self, kind: str, /, **fields: float) -> None:
        """Add a record with all fields of its kind.

        Raises:
            ConfigError: a field that the kind does not have.
        """
        number, names = _kinds()[kind]
        if unknown := fields.keys() - set(names):
            raise ConfigError(
                f"laboratory: {kind} has no field {sorted(unknown)[0]!r}; "
                f"there are {', '.join(names)}"
            )
        self.values.append(number)
        self.values.extend(fields[name] for name in names)


def _law_fields(sender: Sender) -> tuple[dict[str, float], dict[str, float]]:
    """The law's parameters: fields of the sender's record, and of its images' records."""
    parameters = dict(sender.law.parameters)
    known = _SENDER_DEFAULTS.keys() | _IMAGE_DEFAULTS.keys() | {"buffer_bytes"}
    if unknown := parameters.keys() - known:
        raise ConfigError(
            f"law {sender.law.name}: no parameter {sorted(unknown)[0]!r}; "
            f"there are {', '.join(sorted(known))}"
        )
    of_sender = {name: parameters.get(name, value) for name, value in _SENDER_DEFAULTS.items()}
    of_image = {name: parameters.get(name, value) for name, value in _IMAGE_DEFAULTS.items()}
    if "buffer_bytes" in parameters:
        of_image["buffer_bytes"] = parameters["buffer_bytes"]
    return of_sender, of_image


def _add_sender(records: Records, sender: Sender) -> None:
    kind = LAWS[sender.law.name]
    records.add(
        "sender",
        law=_RATES.index(kind.rate),
        fc=_FCS.index(kind.fc),
        rtt_ns=ns(sender.rtt_s),
        link_rate=sender.link_rate,
        mtu=sender.mtu,
        timeout_ns=ns(sender.receiver_timeout_s),
        loss=sender.loss,
        control_loss=sender.control_loss,
        nak_delay_ns=ns(sender.nak_delay_s),
        history_bytes=sender.history_bytes,
        group_size=sender.group_size,
        begins_ns=ns(sender.begins_s),
        ends_ns=ns(sender.ends_s),
        app_rate=sender.app_rate,
        backlog_bytes=sender.backlog_bytes,
        **_law_fields(sender)[0],
    )


def pack(scenario: Scenario, seed: int) -> bytes:
    """The records of a run, as the C engines read them."""
    records = Records()
    records.add(
        "run",
        step_ns=ns(scenario.step_s),
        duration_ns=ns(scenario.seconds),
        sample_ns=ns(scenario.sample_s),
        seed=seed,
        traced_images=min(scenario.traced, len(scenario.images)),
    )
    for sender in scenario.senders:
        _add_sender(records, sender)
    for number, consumer in enumerate(scenario.consumers):
        records.add(
            "consumer",
            noise=consumer.noise,
            noise_ns=ns(consumer.noise_s),
            in_turn=consumer.in_turn,
            forward_to=consumer.forward_to,
            dies_ns=ns(consumer.dies_s),
            hangs_ns=ns(consumer.hangs_s),
            evict_ns=ns(consumer.evict_after_s),
        )
        for at_s, rate in sorted(consumer.levels):
            records.add("level", consumer=number, at_ns=ns(at_s), bytes_per_s=rate)
        for at_s, length_s in consumer.pauses:
            records.add("pause", consumer=number, at_ns=ns(at_s), length_ns=ns(length_s))
    for image in scenario.images:
        sender = scenario.senders[image.sender]
        kind = LAWS[sender.law.name]
        fields = {"buffer_bytes": image.buffer_bytes, **_law_fields(sender)[1]}
        fields["buffer_bytes"] = min(fields["buffer_bytes"], image.buffer_bytes)
        records.add(
            "image",
            sender=image.sender,
            consumer=image.consumer,
            reports=kind.reports,
            congestion=_CONGESTIONS.index(kind.congestion),
            **fields,
        )
    for liar in scenario.liars:
        records.add(
            "liar",
            image=liar.image,
            from_ns=ns(liar.from_s),
            to_ns=ns(liar.to_s),
            period_ns=ns(liar.period_s),
            allowed=liar.allowed,
            fill=liar.fill,
            drain_share=liar.drain_share,
        )
    for forger in scenario.forgers:
        records.add(
            "forger",
            sender=forger.sender,
            kind=FORGERIES.index(forger.kind),
            from_ns=ns(forger.from_s),
            to_ns=ns(forger.to_s),
            period_ns=ns(forger.period_s),
            image=forger.image,
            allowed=forger.allowed,
            fill=forger.fill,
            drain=forger.drain,
        )
    return records.values.tobytes()


class Run:
    """The samples of one run as columns over time, and one row of results per image."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        samples: bytes,
        results: bytes,
        *,
        steps: int = 0,
        gap_s: float = 0.0,
    ) -> None:
        self.scenario: Scenario = scenario
        self.seed: int = seed
        #: In real time only: the number of steps, and the longest time between two steps.
        self.steps: int = steps
        self.gap_s: float = gap_s
        self._sender_names, self._image_names, self._result_names = _lab.columns()
        self._samples: array[float] = array("d", samples)
        self._results: array[float] = array("d", results)
        self._width = (
            _TIME_WIDTH
            + len(scenario.senders) * len(self._sender_names)
            + min(scenario.traced, len(scenario.images)) * len(self._image_names)
        )
        self.times: list[float] = self._samples[:: self._width].tolist()
        #: In real time only: the longest time between two steps since the previous sample.
        self.gaps_s: list[float] = self._samples[1 :: self._width].tolist()

    def gap_within_s(self, from_s: float, to_s: float) -> float:
        """In real time only: the longest time between two steps that overlap this span."""
        return max(self.gaps_s[self.index(from_s) : self.index(to_s) + 1])

    def sender(self, column: str, number: int = 0) -> list[float]:
        """A column of a sender's samples: limit, sent, reports, queue_most, ..."""
        at = _TIME_WIDTH + number * len(self._sender_names) + self._sender_names.index(column)
        return self._samples[at :: self._width].tolist()

    def image(self, column: str, number: int) -> list[float]:
        """A column of a traced image's samples: queue, consumed, capacity."""
        at = (
            _TIME_WIDTH
            + len(self.scenario.senders) * len(self._sender_names)
            + number * len(self._image_names)
            + self._image_names.index(column)
        )
        return self._samples[at :: self._width].tolist()

    def result(self, number: int) -> dict[str, float]:
        """The counts of an image at the end of the run, by name."""
        width = len(self._result_names)
        return dict(
            zip(
                self._result_names,
                self._results[number * width : (number + 1) * width],
                strict=True,
            )
        )

    def results(self, column: str) -> list[float]:
        """One count of every image at the end of the run."""
        return self._results[self._result_names.index(column) :: len(self._result_names)].tolist()

    def index(self, at_s: float) -> int:
        """The index of the first sample at or after a time."""
        return min(len(self.times) - 1, math.ceil(at_s / self.scenario.sample_s - 1e-9))


def run(scenario: Scenario, seed: int) -> Run:
    """Run a scenario once: on the queue engine, or on real agents if the scenario says so.

    In virtual time the same scenario and seed give the same bytes. In real time they do not.

    Raises:
        ConfigError: a law has no parameter of a given name.
        InvalidArgument: a value is outside its range; the text names record and field.
    """
    if not (scenario.agents or scenario.real):
        samples, results = _lab.run(pack(scenario, seed))
        return Run(scenario, seed, samples, results)
    folder = tempfile.mkdtemp(prefix="rstream-lab-", dir="/dev/shm")
    try:
        if scenario.real:
            (samples, results), steps, gap_ns = _lab.run_real(pack(scenario, seed), folder)
            return Run(scenario, seed, samples, results, steps=steps, gap_s=gap_ns / 1e9)
        samples, results = _lab.run_agents(pack(scenario, seed), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Run(scenario, seed, samples, results)
