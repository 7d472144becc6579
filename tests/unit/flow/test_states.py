"""The table of states: no state follows a terminal one; each terminal signal has its own state."""

import pytest

from rstream.flow.states import Signal, State, next_state

TERMINAL = [State.COMPLETED, State.FAILED, State.CANCELLED]


@pytest.mark.parametrize("state", TERMINAL)
@pytest.mark.parametrize("signal", list(Signal))
def test_spec_1_07_3_06_3_07_nothing_happens_after_the_end(state, signal):
    assert state.is_terminal
    assert next_state(state, signal) is None


def test_each_end_has_its_own_state():
    assert next_state(State.ACTIVE, Signal.ON_COMPLETE) is State.COMPLETED
    assert next_state(State.ACTIVE, Signal.ON_ERROR) is State.FAILED
    assert next_state(State.ACTIVE, Signal.CANCEL) is State.CANCELLED


def test_spec_1_09_on_subscribe_is_the_first_signal():
    legal = {signal for signal in Signal if next_state(State.NEW, signal) is not None}
    assert legal == {Signal.ON_SUBSCRIBE, Signal.CANCEL}
