"""Serving in a thread. It calls the function itself, or has a pool of threads call it."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from rstream._waits import Waker, Woken, run
from rstream.service._current import set_current
from rstream.service._serving import CallFunction, MakeAnswer, Serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from rstream.service._asked import Asked
    from rstream.service._service import Service
    from rstream.service._serving import RequestStep


class ThreadServing(Serving):
    """Performs the steps of each request until they wait.

    Args:
        service: what it serves.
        pool: calls the function; None: this thread does.
    """

    def __init__(self, service: Service[Any, Any], pool: ThreadPoolExecutor | None) -> None:
        super().__init__(service)
        self._pool = pool
        self._ready: deque[Asked] = deque()  # their steps wait for nothing but their turn

    def run(self) -> None:
        """Serve until the driver is lost, or the service is closing."""
        try:
            run(self.join_steps())
            run(self.serve_steps())
        finally:
            self.close()

    def _has_more(self) -> bool:
        return bool(self._ready or self._posted or self.line.new)

    def _begin(self, asked: Asked) -> None:
        asked.steps = self.answer_steps(asked)
        self._advance(asked, asked.steps.send, None)

    def _advance_ready(self) -> None:
        for _ in range(len(self._ready)):
            asked = self._ready.popleft()
            self._advance(asked, asked.steps.send, None)

    def _advance(self, asked: Asked, resume: Callable[[Any], RequestStep], answer: Any) -> None:
        """Perform the steps of a request until they wait, or another thread does.

        Args:
            asked: the request.
            resume: ``send`` or ``throw`` of its steps.
            answer: that of the last step, or its error.
        """
        steps, pool = asked.steps, self._pool
        try:
            while True:
                step = resume(answer)
                if not isinstance(step, (CallFunction, MakeAnswer)):
                    break
                if pool is not None:
                    asked.is_in_pool = True
                    pool.submit(self._perform_in_pool, asked, step)
                    return
                set_current(asked, self.line.take)
                try:
                    resume, answer = steps.send, step.perform()
                except BaseException as error:  # sys.exit() ends the request, not the service
                    resume, answer = steps.throw, error
        except StopIteration:
            if asked.answers is not None:
                self._end(asked)
            return
        if isinstance(step, Woken):
            self._park(asked, step.waker)
        else:
            self._ready.append(asked)

    def _park(self, asked: Asked, waker: Waker) -> None:
        def ready() -> None:
            waker.on_wake = None
            self._ready.append(asked)

        waker.on_wake = ready

    def _perform_in_pool(self, asked: Asked, step: CallFunction | MakeAnswer) -> None:
        if asked.is_cancelled and asked.answers is None:
            return  # before its turn
        set_current(asked)
        resume: Callable[[Any], RequestStep] = asked.steps.send
        try:
            answer = step.perform()
        except BaseException as error:
            resume, answer = asked.steps.throw, error
            asked.error_in_pool = error  # it is not Ctrl-C
        self.post(partial(self._back_from_pool, asked, resume, answer))

    def _back_from_pool(
        self, asked: Asked, resume: Callable[[Any], RequestStep], answer: Any
    ) -> None:
        asked.is_in_pool = False
        self._advance(asked, resume, answer)
