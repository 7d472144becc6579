"""Finding an endpoint by its name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from rstream._checks import check_timeout
from rstream._waits import Deadline
from rstream.errors import ConfigError, NoReader
from rstream.ray import _registry
from rstream.ray._cluster import running_ray

if TYPE_CHECKING:
    from rstream.ray._handle import StreamHandle

#: Longer than a registry that runs takes for an answer.
ANSWER_S = 30.0


def handle(name: str, *, timeout_s: float = 10.0, namespace: str | None = None) -> StreamHandle:
    """The handle of an endpoint by its name; waits until somebody has opened it.

    It never returns the handle of a dead process: while Ray restarts an actor, it waits. It blocks
    its thread. In an event loop: ``await asyncio.to_thread(rstream.ray.handle, "ticks")``.

    Args:
        name: as given to :func:`rstream.ray.reader`.
        timeout_s: most seconds to wait for the endpoint; a registry that has to be started first
            may take longer to say so.
        namespace: Ray's namespace; None: the present one.
    Raises:
        NoReader: nobody alive has the name; the text says which names there are.
        ConfigError: Ray does not run here.
        TimeoutError: Ray's registry did not answer.

    Example::

        with rstream.ray.handle("ticks", timeout_s=5).publisher() as pub:
            pub.send({"px": 1.0})
    """
    check_timeout(timeout_s)
    ray = running_ray()
    if ray is None:
        raise ConfigError(
            f"stream {name!r}: names of endpoints are known where Ray runs, and it does not here",
            hint="call ray.init() first; or pass str(handle), and read it by "
            "StreamHandle.from_text",
        )
    scope: str = namespace or ray.get_runtime_context().namespace
    deadline = Deadline(timeout_s)
    while True:
        left_s = deadline.left_s()
        found: StreamHandle | list[str] = _registry.call(
            "find", scope, name, left_s, timeout_s=left_s + ANSWER_S
        )
        if not isinstance(found, list):
            return found
        if deadline.is_over:
            raise NoReader(
                f"stream {name!r}: nobody alive has registered it in {timeout_s:g} s, in Ray's "
                f"namespace {scope!r}; there {_listed(found)}",
                hint=_meant(name, found),
            )


def _listed(names: list[str]) -> str:
    if not names:
        return "are no names"
    return "is " + ", ".join(repr(one) for one in names[:10]) + (", ..." if names[10:] else "")


def _meant(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return "open it there: rstream.ray.reader(name); names are those of one namespace of Ray"
