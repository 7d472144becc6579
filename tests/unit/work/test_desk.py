"""The two books of shared work, alone and against each other: nothing is lost, and nothing is given
twice without a mark.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rstream.work._desk import PATIENCE_S, Message, ReaderSeat, WorkDesk
from rstream.work._ledger import LANES_MAX, JobLedger
from rstream.work._protocol import VERSION, LaneReport, ReaderReport


def report_of(reader, lanes=(), prefetch=2, session=1, is_leaving=False):
    return ReaderReport(
        version=VERSION,
        reader=reader,
        session=session,
        stream_id=-5,
        endpoint="",
        prefetch=prefetch,
        codec_id=2,
        is_leaving=is_leaving,
        lanes=list(lanes),
    )


class Office:
    """A desk and its readers, with reports that the test carries or loses."""

    def __init__(self, *, redelivers=True, deliveries_max=None, losses_max=None):
        self.unfinished = []
        self.desk = WorkDesk(
            redelivers=redelivers,
            deliveries_max=deliveries_max,
            losses_max=losses_max,
            on_unfinished=lambda message, why: self.unfinished.append((message.number, why)),
        )
        self.ledgers = {}
        self.numbers = 0
        self.lanes = 0

    def join(self, reader, prefetch=2):
        self.lanes += 1
        self.desk.add(ReaderSeat(self.lanes, None, report_of(reader, prefetch=prefetch)))
        self.ledgers[reader] = JobLedger(prefetch)

    def send(self):
        """Give a new message; returns reader and message, or None without free demand."""
        self.numbers += 1
        return self.give(Message(b"", self.numbers))

    def give(self, message, seats=None):
        for seat in self.desk.free_seats() if seats is None else seats:
            seat.give(message)
            self.ledgers[seat.reader].received(seat.lane, seat.last)
            return seat.reader, message
        return None

    def give_again(self, now_s=0.0, *, is_idle=False):
        """Send again what may go out now; returns pairs of reader and number."""
        desk, given = self.desk, []
        while desk.waiting and desk.free_seats(now_s):
            given.append(self.give(desk.waiting.popleft(), desk.free_seats(now_s)))
        while seats := desk.trial_seats(now_s, is_idle=is_idle):
            given.append(self.give(desk.suspects.popleft(), seats))
        return [(reader, message.number) for reader, message in given]

    def lose(self, reader, **options):
        self.desk.drop(self.desk.seats[reader], **options)

    def report(self, reader, *, is_leaving=False):
        seat = self.desk.seats[reader]
        lanes = self.ledgers[reader].reports(is_leaving=is_leaving)
        self.desk.report(seat, report_of(reader, lanes, seat.prefetch))
        return next((lane for lane in lanes if lane.lane == seat.lane), None)

    def done(self, reader, number):
        return self.ledgers[reader].done(self.desk.seats[reader].lane, number)


def test_a_message_goes_to_the_reader_with_most_free_demand():
    office = Office()
    office.join("a", prefetch=1)
    office.join("b", prefetch=3)
    assert [office.send()[0] for _ in range(4)] == ["b", "b", "a", "b"]
    assert office.send() is None


def test_acknowledging_out_of_order_frees_demand_at_once():
    office = Office()
    office.join("a", prefetch=3)
    for _ in range(3):
        office.send()
    office.done("a", 3)
    lane = office.report("a")
    assert (lane.upto, lane.beyond, lane.held) == (0, [3], 2)
    assert office.desk.acknowledged == 1
    assert office.desk.seats["a"].free == 1
    office.done("a", 1)
    office.done("a", 2)
    lane = office.report("a")
    assert (lane.upto, lane.beyond) == (3, [])
    assert office.desk.open == 0


def test_a_lost_report_is_made_good_by_the_next():
    office = Office()
    office.join("a", prefetch=2)
    office.send()
    office.done("a", 1)
    office.ledgers["a"].reports()  # nobody gets this one
    office.send()
    office.done("a", 2)
    office.report("a")
    office.report("a")  # and the same once more changes nothing
    assert office.desk.acknowledged == 2


def test_what_a_dead_reader_had_waits_in_order_and_marked():
    office = Office()
    office.join("a", prefetch=3)
    for _ in range(3):
        office.send()
    office.done("a", 2)
    office.report("a")
    office.lose("a")
    assert [(m.number, m.deliveries) for m in office.desk.suspects] == [(1, 1), (3, 1)]
    office.join("b")
    assert office.give_again() == [("b", 1)]
    assert next(iter(office.desk.seats["b"].given.values())).deliveries == 2


def test_a_message_that_two_readers_died_with_is_given_up():
    office = Office(losses_max=2)
    office.join("a", prefetch=1)
    office.join("b", prefetch=1)
    office.join("c", prefetch=1)
    assert [office.send()[0] for _ in range(3)] == ["a", "b", "c"]
    office.done("b", 1)
    office.report("b")
    office.lose("a")
    assert office.give_again() == [("b", 1)]
    office.lose("b")
    assert office.unfinished == [(1, "given up: 2 readers died or left with it")]
    office.done("c", 1)
    office.report("c")
    assert office.desk.acknowledged == 2
    assert office.desk.open == 0


def test_what_may_have_ended_a_reader_goes_out_alone():
    """So the second death says which message it was, and costs no other one a delivery."""
    office = Office(losses_max=2)
    for reader in "ab":
        office.join(reader, prefetch=3)
    assert [office.send()[0] for _ in range(6)] == ["a", "b", "a", "b", "a", "b"]
    office.lose("a")
    assert office.give_again() == []  # b is the last one, and busy
    office.join("c", prefetch=3)
    assert office.give_again() == [("c", 1)]
    assert office.send() is None  # nothing beside it
    for number in (1, 2, 3):
        office.done("b", number)
    office.report("b")
    assert office.give_again() == []  # one reader stays out of trials
    assert [office.send()[0] for _ in range(3)] == ["b", "b", "b"]
    office.lose("c")
    assert [number for number, _ in office.unfinished] == [1]
    assert [m.number for m in office.desk.suspects] == [3, 5]
    assert [m.losses for m in office.desk.suspects] == [1, 1]
    assert [m.losses for m in office.desk.seats["b"].given.values()] == [0, 0, 0]


def test_a_reader_is_kept_free_for_a_trial():
    office = Office()
    for reader in "abc":
        office.join(reader, prefetch=2)
    for _ in range(6):
        office.send()
    office.lose("a")
    assert office.give_again() == []  # nobody is empty
    office.done("b", 1)
    office.report("b")
    assert office.send() is None
    office.done("b", 2)
    office.report("b")
    assert office.give_again() == [("b", 1)]


def test_the_last_reader_of_several_is_risked_when_it_has_nothing_else_to_do():
    office = Office()
    office.join("a", prefetch=1)
    office.join("b", prefetch=1)
    office.send()
    office.lose("a", now_s=100.0)
    assert office.give_again(100.0) == []
    reader, message = office.send()
    assert (reader, message.number) == ("b", 2)  # what is new goes on
    assert office.give_again(100.0, is_idle=True) == []
    office.done("b", 1)
    office.report("b")
    assert office.give_again(100.0) == []
    assert office.give_again(100.0, is_idle=True) == [("b", 1)]


def test_a_suspect_does_not_wait_for_a_second_reader_for_ever():
    office = Office()
    office.join("a", prefetch=1)
    office.join("b", prefetch=1)
    office.send()
    office.lose("a", now_s=100.0)
    assert office.give_again(100.0 + PATIENCE_S - 1) == []
    assert office.give_again(100.0 + PATIENCE_S) == [("b", 1)]


def test_a_reader_that_was_always_alone_gets_it_at_once():
    office = Office()
    office.join("a", prefetch=1)
    office.send()
    office.lose("a")
    office.join("a again", prefetch=1)
    assert office.send() is None
    assert office.give_again() == [("a again", 1)]


def test_a_suspect_that_its_next_reader_has_not_seen_stays_one():
    office = Office()
    office.join("a", prefetch=1)
    office.send()
    office.lose("a")
    office.join("b", prefetch=2)
    assert office.give_again() == [("b", 1)]
    lane = office.report("b", is_leaving=True)
    office.desk.drop(office.desk.seats["b"], report_of("b", [lane], is_leaving=True))
    assert [(m.number, m.deliveries, m.losses) for m in office.desk.suspects] == [(1, 1, 1)]


def test_no_message_is_to_blame_when_the_driver_dies():
    office = Office(losses_max=1)
    office.join("a", prefetch=1)
    office.send()
    office.lose("a", is_innocent=True)
    office.join("b", prefetch=1)
    assert office.give_again() == [("b", 1)]
    assert not office.desk.seats["b"].is_on_trial


def test_at_most_once_tells_what_it_does_not_send_again():
    office = Office(redelivers=False)
    office.join("a")
    office.send()
    office.desk.drop(office.desk.seats["a"])
    assert not office.desk.waiting
    assert office.unfinished == [(1, "its reader died and had not acknowledged it")]


def test_what_nobody_has_seen_goes_out_unmarked_even_at_most_once():
    office = Office(redelivers=False)
    office.join("a", prefetch=2)
    office.send()
    office.send()
    office.ledgers["a"].started(office.desk.seats["a"].lane, 1)
    lane = office.report("a", is_leaving=True)
    assert lane.last == 1  # nobody has seen 2
    office.desk.drop(office.desk.seats["a"], report_of("a", [lane], is_leaving=True))
    assert [(m.number, m.deliveries) for m in office.desk.waiting] == [(2, 0)]
    assert [number for number, _ in office.unfinished] == [1]


def test_what_did_not_reach_a_reader_that_leaves_was_not_seen():
    office = Office(redelivers=False)
    office.join("a", prefetch=2)
    office.send()
    seat = office.desk.seats["a"]
    office.ledgers["a"].started(seat.lane, 1)
    lane = office.report("a", is_leaving=True)
    seat.give(Message(b"", 2))  # while the report was under way
    office.desk.drop(seat, report_of("a", [lane], is_leaving=True))
    assert [(m.number, m.deliveries) for m in office.desk.waiting] == [(2, 0)]
    assert [number for number, _ in office.unfinished] == [1]


def test_a_message_that_is_given_back_too_often_is_given_up():
    office = Office(deliveries_max=2)
    office.join("a", prefetch=1)
    office.send()
    office.ledgers["a"].give_back(1, 1)
    office.report("a")
    (message,) = office.desk.waiting
    assert not office.unfinished
    office.give(office.desk.waiting.popleft())
    office.ledgers["a"].give_back(1, 2)
    office.report("a")
    assert message.deliveries == 2
    assert not office.desk.waiting
    assert "given up after 2 deliveries" in office.unfinished[0][1]


def test_what_a_reader_has_from_others_is_no_free_demand():
    office = Office()
    office.join("a", prefetch=3)
    seat = office.desk.seats["a"]
    office.desk.report(
        seat, report_of("a", [LaneReport(lane=99, last=9, upto=7, held=2)], prefetch=3)
    )
    assert seat.free == 1


def test_idle_lanes_are_forgotten():
    ledger = JobLedger(1)
    for lane in range(3 * LANES_MAX):
        ledger.received(lane, 1)
        ledger.done(lane, 1)
    assert ledger.lanes <= LANES_MAX + 1


def test_a_report_in_between_has_only_what_changed():
    ledger = JobLedger(1)
    ledger.received(1, 1)
    ledger.done(1, 1)
    ledger.received(2, 1)
    assert [one.lane for one in ledger.reports(is_whole=False)] == [1, 2]
    ledger.told(ledger.version)
    assert [one.lane for one in ledger.reports(is_whole=False)] == [2]  # it is held
    ledger.done(2, 1)
    assert [one.lane for one in ledger.reports(is_whole=False)] == [2]
    ledger.told(ledger.version)
    assert ledger.reports(is_whole=False) == []
    assert len(ledger.reports()) == 2


def test_a_number_that_never_came_is_given_back():
    office = Office()
    office.join("a", prefetch=3)
    office.send()
    _, lost = office.give(Message(b"", 2))
    ledger = office.ledgers["a"] = JobLedger(3)
    ledger.received(1, 1)
    ledger.received(1, 3)  # 2 was lost with a driver
    assert ledger.done(1, 3)
    office.desk.seats["a"].give(Message(b"", 3))
    lane = office.report("a")
    assert (lane.upto, lane.beyond, lane.returned) == (0, [2, 3], [2])
    assert list(office.desk.waiting) == [lost]
    assert office.desk.acknowledged == 1


def test_what_was_started_out_of_order_goes_out_with_a_mark():
    office = Office()
    office.join("a", prefetch=3)
    for _ in range(3):
        office.send()
    seat = office.desk.seats["a"]
    office.ledgers["a"].started(seat.lane, 2)
    lane = office.report("a", is_leaving=True)
    assert lane.last == 2
    office.desk.drop(seat, report_of("a", [lane], is_leaving=True), is_innocent=True)
    assert [(one.number, one.deliveries) for one in office.desk.waiting] == [(1, 1), (2, 1), (3, 0)]


def test_numbers_of_no_honest_publisher_are_ignored():
    ledger = JobLedger(1)
    assert ledger.is_next(1, 5)
    ledger.received(1, 5)
    assert not ledger.is_next(1, 5)
    assert not ledger.is_next(1, 4)
    assert not ledger.is_next(1, 1 << 60)
    assert ledger.held == 1


@given(st.data())
def test_every_message_is_in_one_place_and_every_second_delivery_is_marked(data):
    """Readers come, work, die, leave, give back; reports get lost. At the end every message was
    acknowledged by the publisher's book, after at least one reader had finished it.
    """
    office = Office()
    seen = {}  # message: how often a reader has seen it
    finished = set()
    where = {}  # (reader, number on the lane): message
    readers = 0

    def took(pair):
        if pair is not None:
            reader, message = pair
            where[reader, office.desk.seats[reader].last] = message

    def start(reader, number):
        message = where[reader, number]
        if seen.get(message.number, 0) > 0:
            assert message.deliveries > 1, "given twice without a mark"
        seen[message.number] = seen.get(message.number, 0) + 1
        office.ledgers[reader].started(office.desk.seats[reader].lane, number)

    sent = 0
    for _ in range(data.draw(st.integers(0, 60))):
        action = data.draw(st.sampled_from(["send", "join", "work", "back", "report", "die", "go"]))
        present = sorted(office.desk.seats)
        if action == "join" and len(present) < 4:
            readers += 1
            office.join(readers, prefetch=data.draw(st.integers(1, 4)))
        elif action == "send" and not office.desk.waiting and office.desk.free_seats():
            sent += 1
            took(office.send())
        elif present:
            reader = data.draw(st.sampled_from(present))
            seat, ledger = office.desk.seats[reader], office.ledgers[reader]
            held = sorted(ledger._lanes[seat.lane].held) if seat.lane in ledger._lanes else []
            if action in ("work", "back") and held:
                number = data.draw(st.sampled_from(held))
                if not ledger._lanes[seat.lane].held[number]:
                    start(reader, number)
                if action == "work":
                    finished.add(where[reader, number].number)
                    office.done(reader, number)
                elif data.draw(st.booleans()):
                    ledger.give_back(seat.lane, number)
            elif action == "report":
                office.report(reader)
            elif action == "die":
                office.desk.drop(seat)
            elif action == "go":
                lane = office.report(reader, is_leaving=True)
                lanes = [lane] if lane else []
                office.desk.drop(seat, report_of(reader, lanes, is_leaving=True))
        desk = office.desk
        while desk.waiting and desk.free_seats():
            took(office.give(desk.waiting.popleft()))
        while seats := desk.trial_seats(0.0, is_idle=True):
            took(office.give(desk.suspects.popleft(), seats))
        for seat in desk.seats.values():
            suspects = [message for message in seat.given.values() if message.losses]
            assert seat.is_on_trial == bool(suspects)
            assert len(seat.given) == 1 or not suspects
        assert office.desk.open + office.desk.acknowledged == sent
    assert office.desk.acknowledged <= len(finished)
    assert not office.unfinished
