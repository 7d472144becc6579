"""A ledger in a Ray actor, for reading ends whose own actor may die."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rstream.errors import ConfigError, RStreamError
from rstream.ledger import Recalled
from rstream.ray._cluster import answer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Seconds that the actor has for an answer, once its process runs. A commit of Spark waits for it.
ANSWER_TIMEOUT_S = 20.0


class ActorLedger:
    """Remembers in a Ray actor of its own: survives the reading actor, not the ledger's.

    Make it in the program or actor that outlives the reading actor, keep it there, and pass it on:
    the ledger's actor ends with its maker, and when nobody alive has the object. With ``name`` it
    is detached: it stays until :meth:`end`, and the same name finds it again.

    The batch that was in hand when the reading actor died is handed out again, and so may be those
    that were consumed in its last milliseconds; ``(marks.query, marks.epoch, marks.partition,
    marks.sequence)`` names each once and for all.

    Args:
        name: of a detached actor; None: one of its own that ends with its maker.
    Raises:
        ConfigError: Ray is not running here.

    Example::

        ledger = rstream.ray.ActorLedger()
        rows = RowReader.options(max_restarts=-1).remote(ledger)
        # in RowReader: rstream.ray.committed_reader("rows", ledger=ledger)
    """

    def __init__(self, name: str | None = None) -> None:
        ray: Any = importlib.import_module("ray")
        if not ray.is_initialized():
            raise ConfigError("an ActorLedger needs Ray", hint="call ray.init() before")
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": 1}
        if name is not None:
            options |= {
                "name": f"rstream-ledger-{name}",
                "get_if_exists": True,
                "lifetime": "detached",
            }
        self._actor: Any = ray.remote(LedgerActor).options(**options).remote()
        self._turn = 0
        # Made in an actor without a name, it ends with that actor.
        self._ends_here = name is None and ray.get_runtime_context().get_actor_id() is not None

    @property
    def ends_with_this_actor(self) -> bool:
        """Whether the actor that runs here made it, without a name: it ends with that actor."""
        return self._ends_here

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_actor, (self._actor,)

    def _ask(self, reference: Any) -> Any:
        ray: Any = importlib.import_module("ray")
        try:
            return answer_of(self._actor, reference, ANSWER_TIMEOUT_S)
        except ray.exceptions.RayTaskError as error:
            raise RStreamError(f"ledger actor: {error.cause}") from error
        except (ray.exceptions.RayActorError, TimeoutError) as error:
            raise RStreamError(
                f"the ledger's actor does not answer: {type(error).__name__}: {error}",
                hint="it ends with the program that made the ledger, or when that drops the object",
            ) from error

    def recall(self) -> Recalled:
        """What the actor remembers. Reading ends that had the ledger before are refused from now.

        Raises:
            RStreamError: the actor does not answer.
        """
        self._turn, recalled = self._ask(self._actor.recall.remote())
        return recalled

    def commit(
        self, query: str, epoch: int, rows: Sequence[tuple[int, Callable[[], bytes]]]
    ) -> None:
        """Hand an epoch and its rows to the actor.

        Raises:
            RStreamError: the actor does not answer, or another reading end has the ledger now.
        """
        made = [(position, make()) for position, make in rows]
        self._ask(self._actor.commit.remote(self._turn, query, epoch, made))

    def consume(self, position: int) -> None:
        """Tell the actor; does not wait for it."""
        self._actor.consume.remote(self._turn, position)

    def close(self) -> None:
        """Nothing to give back: the actor stays."""

    def end(self) -> None:
        """End the actor; what it remembers is gone."""
        ray: Any = importlib.import_module("ray")
        ray.kill(self._actor)


def _of_actor(actor: Any) -> ActorLedger:
    ledger = ActorLedger.__new__(ActorLedger)
    ledger._actor = actor  # pyright: ignore[reportPrivateUsage]
    ledger._turn = 0  # pyright: ignore[reportPrivateUsage]
    ledger._ends_here = False  # pyright: ignore[reportPrivateUsage]
    return ledger


class LedgerActor:
    """What the actor runs."""

    def __init__(self) -> None:
        self._turn = 0
        self._committed: dict[str, int] = {}
        self._rows: dict[int, bytes] = {}
        self._position = 0

    def recall(self) -> tuple[int, Recalled]:
        """The number of a new turn, and what there is."""
        self._turn += 1
        return self._turn, Recalled(dict(self._committed), list(self._rows.items()), self._position)

    def commit(self, turn: int, query: str, epoch: int, rows: list[tuple[int, bytes]]) -> None:
        """Keep an epoch and its rows."""
        if turn != self._turn:
            raise RuntimeError("another reading end has this ledger now")
        self._committed[query] = epoch
        self._rows.update(rows)
        if rows:
            self._position = rows[-1][0]

    def consume(self, turn: int, position: int) -> None:
        """Forget rows; those of an older turn are handed out again already."""
        while turn == self._turn and self._rows and (first := next(iter(self._rows))) <= position:
            del self._rows[first]
