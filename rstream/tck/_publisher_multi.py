"""The tests of a publisher with several subscribers; all of them are optional (§1.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rstream.tck._publisher_required import PublisherRequiredTests, T
from rstream.tck._runner import named, optional
from rstream.testing import Error

if TYPE_CHECKING:
    from rstream.testing import TestSubscriber


@named(
    _multicasts_one_by_one=(
        "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfI"
        "tsSubscribersWhenRequestingOneByOne"
    ),
    _multicasts_upfront=(
        "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfI"
        "tsSubscribersWhenRequestingManyUpfront"
    ),
    _multicasts_upfront_and_completes=(
        "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfI"
        "tsSubscribersWhenRequestingManyUpfrontAndCompleteAsExpected"
    ),
)
class PublisherMultiTests(PublisherRequiredTests[T]):
    """See :class:`PublisherVerification`."""

    def _several(self, elements: int, count: int) -> list[TestSubscriber[T]]:
        publisher = self.create_publisher(elements)
        several = [self.env.subscribe(publisher) for _ in range(count)]
        for seen in several:
            for signal in seen.signals:
                if isinstance(signal, Error):
                    raise AssertionError(f"a further subscriber is refused: {signal.error}")
        return several

    @optional(1)
    def optional_spec111_maySupportMultiSubscribe(self) -> None:
        for seen in self._several(1, 2):
            seen.assert_not_ended()

    @optional(1)
    def optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals(self) -> None:
        several = self._several(1, 2)
        for seen in several:
            seen.request(1)
        for seen in several:
            if not self.env.until(lambda seen=seen: bool(seen.signals), self.env.timeout_s):
                raise AssertionError("§1.11: a subscriber got neither an element nor the end")

    @optional(5, completes=True)
    def _multicasts_one_by_one(self) -> None:
        several = self._several(5, 3)
        first, second, third = several
        for seen, count in ((first, 1), (second, 2), (first, 1), (third, 3), (third, 1)):
            seen.request(count)
            seen.take(count)
        for seen, left in ((first, 3), (second, 3), (third, 1)):
            for _ in range(left):
                seen.request(1)
                seen.take()
            seen.expect_complete()
        _check_same(several)

    @optional(3)
    def _multicasts_upfront(self) -> None:
        self._take_upfront()

    @optional(3, completes=True)
    def _multicasts_upfront_and_completes(self) -> None:
        for seen in self._take_upfront():
            seen.expect_complete()

    def _take_upfront(self) -> list[TestSubscriber[T]]:
        several = self._several(3, 3)
        for seen in several:
            seen.request(4)
        for seen in several:
            seen.take(3)
        _check_same(several)
        return several


def _check_same(several: list[TestSubscriber[Any]]) -> None:
    sequences = [seen.values for seen in several]
    if any(values != sequences[0] for values in sequences):
        raise AssertionError(f"§1.11: the subscribers saw different elements: {sequences!r}")
