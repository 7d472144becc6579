"""Event loops for the floors below :mod:`rstream.aio`: the package tells them what runs one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: Serves a service whose function is ``async``, in an event loop of its own, until it is closed.
run_service: Callable[[Any], None]
