"""The window towards a reader of few or small items (flow/reader_window.h) against its model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.models.numbers import NS_PER_MS
from tests.models.reader_window import Look, ReaderWindow
from tests.unit import test_flow_models
from tests.unit.test_flow_models import I64, SLOW, Laws

laws = test_flow_models.laws


def asked(laws: Laws, look: Look) -> list[float | int]:
    return laws.ask(
        "look",
        look.now,
        look.produced,
        look.consumed,
        look.window,
        look.stopped,
        look.largest,
        look.first,
        look.frame,
        look.turn,
        look.may_fill,
        look.is_blocked,
        look.has_read,
    )


@SLOW
@given(
    events=st.lists(
        st.tuples(
            st.sampled_from([0, 1, *(ms * NS_PER_MS for ms in (1, 9, 11, 200, 300, 2000))]),
            st.floats(0, 1),
            st.sampled_from([0.0, 0.01, 0.5, 1.0]),
            st.sampled_from([190, 190, 1000, 100_000]),
            st.sampled_from([False, False, True]),
        ),
        min_size=1,
        max_size=80,
    ),
    window=st.sampled_from([1 << 19, 1 << 16, 1 << 25]),
    stopped=st.sampled_from([1 << 17, 1 << 19, 0]),
    frame=st.sampled_from([0, 1408]),
    may_fill=st.booleans(),
    turn=st.sampled_from([0, 80 * NS_PER_MS]),
)
def test_it_matches_the_model_and_lets_two_messages_in(
    laws: Laws,
    events: list[tuple[int, float, float, int, bool]],
    window: int,
    stopped: int,
    frame: int,
    may_fill: bool,
    turn: int,
) -> None:
    """The publisher writes a part of what it may; the reader takes a part of what is there."""
    laws.ask("reader")
    now = produced = consumed = 0
    look = Look(now, 0, 0, window, stopped, 0, 1408, frame, turn, may_fill)
    model = ReaderWindow(look)
    room = asked(laws, look)[0]
    assert room == model.update(look)
    for passing, written, taken, largest, is_blocked in events:
        now += passing
        produced = max(produced, produced + int((consumed + room - produced) * written))
        consumed += int((produced - consumed) * taken)
        facts = (produced, consumed, window, stopped, largest, 1408, frame, turn)
        look = Look(now, *facts, may_fill, is_blocked, has_read=consumed > 0 or is_blocked)
        expected = model.update(look)
        answer = asked(laws, look)
        assert answer == [expected, model.usual, model.wake_position(), model.look_due()]
        assert min(2 * largest, window) <= expected <= window
        room = expected


@SLOW
@given(
    looks=st.lists(
        st.builds(
            Look, *[I64] * 9, st.booleans(), st.booleans(), st.booleans()
        ),
        min_size=1,
        max_size=30,
    )
)  # fmt: skip
def test_hostile_numbers_match_the_model(laws: Laws, looks: list[Look]) -> None:
    laws.ask("reader")
    model = ReaderWindow(looks[0])
    for look in looks:
        expected = model.update(look)
        assert asked(laws, look) == [expected, model.usual, model.wake_position(), model.look_due()]
        assert 0 <= expected <= max(look.window, 0)
