"""How long the answer of an actor is waited for, in virtual time; Ray's tables are a script."""

from __future__ import annotations

import pytest

from rstream.ray import _cluster

TIMEOUT_S = 5.0


class Clock:
    """Stands for the module ``time``."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


class Reference:
    """The result of a method: there at its time, and its own future."""

    def __init__(self, clock: Clock, after_s: float) -> None:
        self._clock = clock
        self._at_s = clock.now_s + after_s

    def future(self) -> Reference:
        return self

    def done(self) -> bool:
        return self._clock.now_s >= self._at_s

    def result(self, timeout_s: float = 0.0) -> str:
        self._clock.now_s = max(self._clock.now_s, min(self._at_s, self._clock.now_s + timeout_s))
        if not self.done():
            raise TimeoutError
        return "here"


@pytest.fixture
def wait(monkeypatch):
    """Waits for an answer of an actor that starts and answers so many seconds from now."""

    def wait(runs_after_s: float, answers_after_s: float) -> tuple[str, float]:
        clock = Clock()
        begin_s = clock.now_s
        monkeypatch.setattr(_cluster, "time", clock)
        monkeypatch.setattr(
            _cluster, "_is_starting", lambda actor: clock.now_s < begin_s + runs_after_s
        )
        reference = Reference(clock, answers_after_s)
        try:
            answer = _cluster.answer_of("an actor", reference, TIMEOUT_S)
        except TimeoutError as error:
            answer = str(error)
        return answer, clock.now_s - begin_s

    return wait


@pytest.mark.parametrize(
    ("runs_after_s", "answers_after_s"),
    [
        (0, 1),
        (0, 4.75),
        (7, 8),
        (8, 11),  # the look after five seconds finds it starting, the one after ten running
        (9.75, 14.5),
        (60, 61),
    ],
)
def test_the_seconds_of_its_start_do_not_count(wait, runs_after_s, answers_after_s):
    assert wait(runs_after_s, answers_after_s) == ("here", answers_after_s)


@pytest.mark.parametrize(
    ("runs_after_s", "ends_after_s"),
    [
        (0, TIMEOUT_S),
        (8, 10 + TIMEOUT_S),  # it has run since the look after ten seconds at the latest
        (1e9, _cluster.START_TIMEOUT_S),
    ],
)
def test_its_silence_is_told(wait, runs_after_s, ends_after_s):
    text, waited_s = wait(runs_after_s, 1e9)
    assert text == f"'an actor' did not answer within {ends_after_s:.0f} s"
    assert waited_s == ends_after_s
