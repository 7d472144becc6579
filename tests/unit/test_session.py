"""Joining again without a driver: which attempts are made, and what an endpoint is told."""

from __future__ import annotations

import logging

import pytest

from rstream._session import Link, Patience, Session, Shared, _joining
from rstream._waits import Pause, Work
from rstream.errors import DriverError, DriverLost, RegistrationError


class LostClient:
    state = 2
    dir = "/here"


def lost_link(*, is_shared=True):
    client = LostClient()
    return Link(client, client.dir, Shared(client, set(), 0) if is_shared else None)


def perform(steps):
    """Perform the steps without a pause; returns result and pauses."""
    pauses, answer, failure = [], None, None
    try:
        while True:
            step = steps.send(answer) if failure is None else steps.throw(failure)
            answer = failure = None
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                continue
            assert isinstance(step, Work)
            try:
                answer = step.function()
            except Exception as error:
                failure = error
    except StopIteration as end:
        return end.value, pauses


def failing(*errors):
    left = list(errors)

    def attempt():
        if left:
            raise left.pop(0)
        return "done"

    return attempt


def test_it_is_tried_until_it_works():
    told = []
    attempt = failing(DriverError("1"), RegistrationError("2"))
    result = perform(Patience(pause_s=0.3).try_steps(attempt, on_failure=told.append))
    assert result == ("done", [0.3, 0.3])
    assert [str(error) for error in told] == ["1", "2"]


@pytest.mark.parametrize(
    ("patience", "error"),
    [
        (Patience(timeout_s=0), DriverError("late")),
        (Patience(), ValueError("of another class")),
        (Patience(unless=DriverLost), DriverLost("hopeless")),
    ],
)
def test_an_error_ends_the_attempts(patience, error):
    with pytest.raises(type(error), match=str(error)):
        perform(patience.try_steps(failing(error)))


def test_the_first_failure_while_closing_is_the_last():
    with pytest.raises(DriverError, match="1"):
        perform(Patience().try_steps(failing(DriverError("1")), is_closing=lambda: True))


def test_an_endpoint_opens_with_each_new_link_and_is_told_once(monkeypatch, caplog):
    old, links, told = lost_link(), [lost_link(), lost_link()], []
    held, left = [], list(links)
    monkeypatch.setattr(_joining, "exchange", lambda link: (held.append(link), left.pop(0))[1])
    session, opens = Session(old), failing(DriverLost("died as well"))

    def opened(link):
        told.append(session.link)
        opens()

    with caplog.at_level(logging.WARNING, "rstream"):
        assert "driver in /here lost" in session.lost("stream 'x'")
        perform(session.join_steps(opened, lambda: told.append("joined"), title="stream 'x'"))
    assert told == [old, links[0], "joined"]  # while it opens, the link is the one before
    assert held == [old, links[0]]
    assert session.link is links[1]
    assert session.joins == 1
    assert caplog.messages == [
        "stream 'x': driver in /here lost; joining again",
        "stream 'x': not yet back: died as well",
    ]


def test_two_threads_join_once(monkeypatch):
    monkeypatch.setattr(_joining, "exchange", lambda _: lost_link())
    session, opened = Session(lost_link()), []
    first, second = (session.join_steps(opened.append, title="stream 'x'") for _ in range(2))
    perform(first)
    perform(second)
    assert len(opened) == session.joins == 1


def test_the_callers_own_client_is_not_made_anew():
    session = Session(lost_link(is_shared=False))
    assert not session.may_join_again
    with pytest.raises(DriverLost, match="as it was"):
        session.lost("stream 'x'", DriverLost("as it was"))
    with pytest.raises(DriverLost, match="the caller's own client cannot join again"):
        session.lost("stream 'x'")
