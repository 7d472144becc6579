"""``rstream stat --json``: what a driver knows, as one JSON object.

The keys are the attributes of the classes of :mod:`rstream.metrics`, and those named here. They
are stable: a later release may add keys, and does not change or remove one of them without another
``version`` (docs/reference/cli.md).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from rstream import _core, metrics
from rstream.cli._stat_keys import KeysOf, keys_of, sealed_ids

__all__ = ("report",)

VERSION: Final = 1
STATES: Final = {0: "none", 1: "dead", 2: "alive", 3: "alive"}


def report(driver_dir: str) -> dict[str, Any]:
    """The object of one look.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    life = _core.probe(driver_dir)
    counters = metrics.counters(driver_dir)
    info = _core.driver_info(driver_dir)
    keys = keys_of(counters)
    return {
        "version": VERSION,
        "rstream": _core.__version__,
        "dir": driver_dir,
        "driver": {
            "state": STATES[life],
            "is_aeron": life == 3,
            "pid": info.pid,
            "heartbeat_age_ms": info.heartbeat_age_ms,
        },
        "publications": [_publication(state, keys) for state in metrics.publications(driver_dir)],
        "readers": [_named(state, keys) for state in metrics.images(driver_dir)],
        "subscriptions": [_named(state, keys) for state in metrics.subscriptions(driver_dir)],
        "losses": [dataclasses.asdict(loss) for loss in metrics.losses(driver_dir)],
        "counters": [dataclasses.asdict(counter) for counter in counters],
    }


def _named(state: metrics.ImageState | metrics.SubscriptionState, keys: KeysOf) -> dict[str, Any]:
    added = {"name": state.name, "keys": sealed_ids(state.channel, keys)}
    return dataclasses.asdict(state) | added


def _publication(state: metrics.PublicationState, keys: KeysOf) -> dict[str, Any]:
    found = dataclasses.asdict(state)
    for key in ("slowest", "followed"):
        reader = getattr(state, key)
        if reader is not None:
            found[key]["name"] = reader.name
    holder = state.holder
    return found | {
        "name": state.name,
        "keys": sealed_ids(state.channel, keys),
        "sent": state.sent,
        "sent_bytes": state.sent_bytes,
        "consumed_bytes": state.consumed_bytes,
        "queued_bytes": state.queued_bytes,
        "fill": state.fill,
        "waits_for": state.waits_for,
        "holder": None if holder is None else dataclasses.asdict(holder) | {"name": holder.name},
    }
