"""The tables of a sink: the life is left once, and one thread at a time asks the upstream."""

import pytest

from rstream.flow.sink_states import Asking, AskingEvent, Life, SinkEvent, next_asking, next_life

TERMINAL = [Life.COMPLETED, Life.FAILED, Life.CANCELLED]


@pytest.mark.parametrize("life", TERMINAL)
@pytest.mark.parametrize("event", list(SinkEvent))
def test_spec_2_08_nothing_happens_after_the_end(life, event):
    assert life.is_terminal
    assert next_life(life, event) is None


@pytest.mark.parametrize("life", [Life.NEW, Life.ACTIVE])
@pytest.mark.parametrize(
    ("event", "end"),
    [
        (SinkEvent.ON_COMPLETE, Life.COMPLETED),
        (SinkEvent.ON_ERROR, Life.FAILED),
        (SinkEvent.SEND_FAILED, Life.FAILED),
        (SinkEvent.CANCEL, Life.CANCELLED),
    ],
)
def test_each_end_has_its_own_state(life, event, end):
    assert not life.is_terminal
    assert next_life(life, event) is end


def test_spec_2_05_only_a_new_sink_takes_a_subscription():
    takers = [life for life in Life if next_life(life, SinkEvent.ON_SUBSCRIBE) is not None]
    assert takers == [Life.NEW]
    assert next_life(Life.NEW, SinkEvent.ON_SUBSCRIBE) is Life.ACTIVE


def test_an_element_changes_nothing_before_the_end():
    for life in Life:
        assert next_life(life, SinkEvent.ON_NEXT) is (None if life.is_terminal else life)


def test_spec_2_07_one_thread_at_a_time_asks():
    assert next_asking(Asking.IDLE, AskingEvent.FOUND) is Asking.ASKING
    assert next_asking(Asking.ASKING, AskingEvent.FOUND) is None
    assert next_asking(Asking.ASKING, AskingEvent.RETURNED) is Asking.IDLE
    assert next_asking(Asking.IDLE, AskingEvent.RETURNED) is None
