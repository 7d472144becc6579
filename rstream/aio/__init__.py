"""asyncio and trio: a stream's publishing face whose waits are awaited.

    async with rstream.aio.publisher("ticks") as pub:
        await pub.send({"px": 1.0})

Needs the extra ``aio`` (anyio). Nothing here blocks the event loop: what waits for readers or for a rate sleeps on a
file descriptor of the loop, what starts a driver runs in a thread. ``rstream.publisher`` is the same for threads.
"""

from __future__ import annotations

from rstream.aio._open import publisher
from rstream.aio._publisher import Publisher

__all__ = ("Publisher", "publisher")
