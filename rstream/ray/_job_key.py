"""The key of a Ray job, derived from a secret of the cluster.

All processes of one Ray namespace have one key. A job that names no namespace has one of its own.
The cluster's secret is drawn by its first endpoint and stays in Ray's key-value store, which hands
it out over Ray's channels, as it does arguments of tasks; handles carry a key's id alone.
"""

from __future__ import annotations

import hmac
import importlib
import logging
import os
import secrets
from typing import TYPE_CHECKING, Any, Final

from rstream._channel_uri import ChannelUri
from rstream.keys import ENVIRONMENT, GroupKey, is_built, known_key, reference, remember
from rstream.ray._cluster import running_ray

if TYPE_CHECKING:
    from rstream.keys import KeyLike

log = logging.getLogger("rstream")

#: Where the cluster's secret is. One entry for each cluster: nothing tells when a namespace ends.
SECRET_NAME: Final = b"rstream:secret"


def job_key() -> GroupKey | None:
    """The key of this process's Ray namespace; None: Ray does not run here.

    A writer outside Ray takes it with it: :func:`rstream.keys.write_file` makes a file of it, and
    ``RSTREAM_KEY_FILE`` names that file there.

    Example::

        rstream.keys.write_file("/etc/ticks.key", [rstream.ray.job_key()])
    """
    ray = running_ray()
    if ray is None:
        return None
    scope: str = ray.get_runtime_context().namespace
    return GroupKey(hmac.digest(_secret(), b"rstream namespace " + scope.encode(), "sha256"))


def _secret() -> bytes:
    """Asked for each time, which takes a millisecond: this process may join another cluster."""
    store: Any = importlib.import_module("ray.experimental.internal_kv")
    found: bytes | None = store._internal_kv_get(SECRET_NAME)
    if found is None:
        store._internal_kv_put(SECRET_NAME, secrets.token_hex(32).encode(), False)  # first wins
        found = store._internal_kv_get(SECRET_NAME)
    return bytes.fromhex((found or b"").decode())


def key_of_reader(key: KeyLike) -> str:
    """The ``rs-key`` of an endpoint's UDP port, and of its handle.

    Args:
        key: as given; ``"default"``: ``$RSTREAM_KEY_FILE``, else the job's key.
    Raises:
        ConfigError: as :func:`rstream.keys.reference`.
    """
    if key == "default" and not os.environ.get(ENVIRONMENT):
        found = job_key()
        if found is None:
            return "none"
        if is_built():
            return remember(found)
        log.warning("endpoints are not encrypted: this rstream was built without libcrypto")
        return "none"
    return reference(f"file:{os.environ[ENVIRONMENT]}" if key == "default" else key) or "none"


def adopt_key(channel: str) -> str:
    """The channel of a handle; this process has its key then, if it is that of its job."""
    key_of(channel)
    return channel


def key_of(channel: str) -> GroupKey | None:
    """The key of a handle's channel, if this process has it or may have it."""
    wanted = (ChannelUri.parse(channel).get("rs-key") or "") if channel else ""
    found = known_key(wanted) if wanted.startswith("id:") else None
    if found is None and wanted.startswith("id:"):
        found = job_key()
        if found is None or wanted != f"id:{found.id}":
            return None
        remember(found)
    return found
