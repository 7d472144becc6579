"""What Ray knows of the process that this is, and of others: the only file that asks its tables.

An actor that Ray restarts is the same actor in another process. So a *holder* of an endpoint is
known by actor id and count of restarts, together its incarnation; outside of actors by its worker
process, and a driver program by its job.
"""

from __future__ import annotations

import enum
import importlib
import logging
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

log = logging.getLogger("rstream")

#: Length of the ids in texts for people.
ID_SHOWN = 8
#: Most seconds that a call waits for Ray to start the process of its actor. Ray gives a process a
#: minute, and starts only a few at a time.
START_TIMEOUT_S: Final = 180.0
#: Pause between two looks whether Ray has started the process.
START_LOOK_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointHolder:
    """The process that has an endpoint open.

    Attributes:
        scope: Ray's namespace, in which names are unique.
        actor_id: of an actor; empty: a task or a driver program.
        restarts: how often Ray had restarted the actor.
        may_restart: whether Ray restarts it when it dies.
        worker_id: of the process; empty: a driver program.
        job_id: of the job.
        title: for people.
    """

    scope: str
    actor_id: str
    restarts: int
    may_restart: bool
    worker_id: str
    job_id: str
    title: str


class Standing(enum.Enum):
    """How a holder is now.

    ALIVE: as it was. AWAY: the actor is being restarted, or is another incarnation by now. GONE:
    dead for good.
    """

    ALIVE = "alive"
    AWAY = "away"
    GONE = "gone"


def running_ray() -> Any:
    """The module ray if it is initialised here, else None. It has no strict types.

    It is not imported for that: who has not imported it has not initialised it.
    """
    ray: Any = sys.modules.get("ray")
    return ray if ray is not None and ray.is_initialized() else None


def this_process() -> EndpointHolder | None:
    """This process as a holder; None: Ray does not run here."""
    ray = running_ray()
    if ray is None:
        return None
    context = ray.get_runtime_context()
    actor_id: str = context.get_actor_id() or ""
    row = _actor_row(actor_id) if actor_id else None
    is_program = ray._private.worker.global_worker.mode == ray._private.worker.SCRIPT_MODE
    kind = "the driver program" if is_program else "a task"
    if actor_id:
        kind = f"actor {'' if row is None else row.class_name}({actor_id[:ID_SHOWN]})"
    return EndpointHolder(
        scope=context.namespace,
        actor_id=actor_id,
        restarts=0 if row is None else row.num_restarts,
        may_restart=bool(actor_id) and (row is None or row.max_restarts != 0),
        worker_id="" if is_program else context.get_worker_id(),
        job_id=context.get_job_id(),
        title=f"{kind}, process {os.getpid()} on {ray.util.get_node_ip_address()}",
    )


def attempt_number() -> int:
    """How often Ray has started the task of now before; 0 outside of tasks."""
    ray = running_ray()
    if ray is None:
        return 0
    core_worker = ray._private.worker.global_worker.core_worker
    return int(core_worker.get_current_task_attempt_number())


def class_name(actor_id: str) -> str:
    """The class of an actor; empty: not known."""
    row = _actor_row(actor_id)
    return "" if row is None else row.class_name.rpartition(".")[2]


def final_death(actor_id: str) -> tuple[str, bool]:
    """For people, that an actor is dead and Ray does not restart it; empty: it is not, or this
    cluster does not know it. And whether Ray is restarting it. Takes a millisecond.
    """
    row = _actor_row(actor_id)
    if row is None or row.state != row.DEAD:
        return "", row is not None and row.state == row.RESTARTING
    title = f"{row.class_name.rpartition('.')[2]}({actor_id[:ID_SHOWN]})"
    return f"its actor {title} is dead, and Ray does not restart it", False


def standing(holder: EndpointHolder) -> Standing:
    """Whether the process is still there; asks Ray, which takes a millisecond."""
    if holder.actor_id:
        row = _actor_row(holder.actor_id)
        if row is None or row.state == row.DEAD:
            return Standing.GONE
        return Standing.ALIVE if row.num_restarts == holder.restarts else Standing.AWAY
    is_there = _has_worker(holder.worker_id) if holder.worker_id else _has_job(holder.job_id)
    return Standing.ALIVE if is_there else Standing.GONE


def answer_of(actor: Any, reference: Any, timeout_s: float) -> Any:
    """The result of an actor's method; works in event loops, too.

    The seconds in which Ray starts the actor's process do not count: on a busy machine Ray may
    need a minute for that, and the call has not reached anybody yet.

    Args:
        actor: the handle of the actor.
        reference: what ``actor.method.remote()`` returned.
        timeout_s: most seconds for the answer of a process that runs.
    Raises:
        TimeoutError: no answer in time, or Ray did not start the process within
            ``START_TIMEOUT_S``. And what the method raised, and RayActorError.
    """
    future = reference.future()  # not ray.get, which warns in event loops
    begin_s = time.monotonic()
    deadline_s = begin_s + timeout_s
    is_starting = is_told = False
    while True:
        try:
            return future.result(max(0.0, min(START_LOOK_S, deadline_s - time.monotonic())))
        except TimeoutError:
            if future.done():  # the error is the method's, or the answer has come just now
                return future.result()
        now_s = time.monotonic()
        was_starting, is_starting = is_starting, _is_starting(actor)
        # A process that was starting at the last look may have begun to run just now.
        if (is_starting or was_starting) and now_s - begin_s < START_TIMEOUT_S:
            deadline_s = now_s + timeout_s
            if not is_told:
                is_told = True
                log.warning("waiting for Ray to start %r", actor)
        elif now_s >= deadline_s:
            raise TimeoutError(f"{actor!r} did not answer within {now_s - begin_s:.0f} s")


def _is_starting(actor: Any) -> bool:
    row = _actor_row(actor._actor_id.hex())
    return row is not None and row.state in (
        row.DEPENDENCIES_UNREADY,
        row.PENDING_CREATION,
        row.RESTARTING,
    )


def _tables() -> Any:
    """Ray's accessor of its tables. ``RuntimeContext.was_current_actor_reconstructed`` reads it."""
    state: Any = importlib.import_module("ray._private.state").state
    return state._connect_and_get_accessor()


def _messages() -> Any:
    return importlib.import_module("ray.core.generated.gcs_pb2")


def _actor_row(actor_id: str) -> Any:
    ray: Any = importlib.import_module("ray")
    found = _tables().get_actor_info(ray.ActorID(bytes.fromhex(actor_id)))
    return None if found is None else _messages().ActorTableData.FromString(found)


def _has_worker(worker_id: str) -> bool:
    ray: Any = importlib.import_module("ray")
    found = _tables().get_worker_info(ray.WorkerID(bytes.fromhex(worker_id)))
    return found is not None and bool(_messages().WorkerTableData.FromString(found).is_alive)


def _has_job(job_id: str) -> bool:
    rows = _tables().get_job_table(
        skip_submission_job_info_field=True, skip_is_running_tasks_field=True
    )
    jobs = (_messages().JobTableData.FromString(row) for row in rows)
    return any(job.job_id.hex() == job_id and not job.is_dead for job in jobs)
