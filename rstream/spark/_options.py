"""The options of the sink, checked before anything is sent."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import TYPE_CHECKING, Any, Final, cast

from rstream import rate as rates
from rstream._checks import short
from rstream.errors import ConfigError
from rstream.keys import GroupKey, learn, remember
from rstream.ray._internal import COMMITTED, StreamHandle, check_distinct, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rstream.rate import RateLimit

OPTIONS = {
    "handles": "stream handles, one JSON list of texts (StreamHandle.to_text), or one text",
    "delivery": "committed (default): each row once, with its micro-batch; eager: at least once",
    "routing": "partition (default): a partition's rows go to one handle; key: by partitionBy; "
    "broadcast: each handle gets all rows; work: each message to a reader with room (eager only)",
    "partitionby": "column whose value chooses the handle (routing key)",
    "partitionmap": "JSON object: value of that column -> index of the handle; "
    "for other values the CRC-32 of the value chooses",
    "rowspermessage": "most rows in one message (default: as many as fit a MiB)",
    "offertimeout": "seconds that a task waits for a reader before it fails (default 120)",
    "committimeout": "seconds that the commit of a micro-batch may take (default 30)",
    "ack": "eager delivery: consumed (default): a task ends when its rows are consumed; "
    "sent: when they are sent",
    "rate": "how fast each task may send: 200MB/s, or a law as in rs-rate (adaptive)",
    "key": "file:PATH or env:NAME on the workers: the key that the readers on other hosts have",
    "secretkey": "that key itself, 64 hex digits, such as rstream.ray.job_key().secret.hex(); "
    "Spark hides the option in its pages and logs",
    "driverdir": "driver directory of the writer on another host; default: the handle's",
}
#: Options that belong to Spark; it hands them to the sink with the others.
SPARK_OPTIONS = frozenset(
    (
        "_asyncprogresstrackingoverridesinksupportcheck",
        "asyncprogresstrackingcheckpointintervalms",
        "asyncprogresstrackingenabled",
        "checkpointlocation",
        "path",
        "queryname",
    )
)
CHOICES: Final = {
    "delivery": ("committed", "eager"),
    "routing": ("partition", "key", "broadcast", "work"),
    "ack": ("consumed", "sent"),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SinkConfig:
    """The sink's options, checked."""

    handles: tuple[str, ...]
    delivery: str = "committed"
    routing: str = "partition"
    partition_by: str | None = None
    partition_map: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    rows_per_message: int = 0
    offer_timeout_s: float = 120.0
    commit_timeout_s: float = 30.0
    wait_consumed: bool = True
    driver_dir: str | None = None
    rate: RateLimit | None = None
    checkpoint: str = ""
    key: str | None = None
    keys: tuple[GroupKey, ...] = ()  # of the handles, as the program has them

    def learn_keys(self) -> None:
        """Let this process have the keys of the handles. Raises ConfigError."""
        for key in self.keys:
            remember(key)
        if self.key is not None:
            learn(self.key)

    @property
    def is_committed(self) -> bool:
        return self.delivery == "committed"

    @classmethod
    def from_options(cls, options: dict[str, str]) -> SinkConfig:
        """Check Spark's option strings (case-insensitive names).

        Raises:
            ConfigError: an option is missing, unknown or wrong, or a reader cannot take record
                batches; the text names the allowed values.
        """
        given = {key.lower(): value for key, value in options.items()}
        for key in given.keys() - OPTIONS.keys() - SPARK_OPTIONS:
            raise ConfigError(unknown(key, OPTIONS))
        handles = _handles(given.get("handles") or given.get("path"))
        delivery = choice(given, "delivery", CHOICES["delivery"])
        if delivery == COMMITTED:
            _check_commits(handles)
        if delivery == "committed" and "ack" in given:
            raise ConfigError(
                'rstream sink: option "ack" is for delivery=eager; with committed delivery a task '
                "ends when its rows are staged at the readers"
            )
        partition_by = given.get("partitionby")
        routing = _routing(given, partition_by)
        if routing == "work" and delivery == "committed":
            raise ConfigError(
                "rstream sink: routing=work needs delivery=eager: when a micro-batch is replayed, "
                "its rows may go to other readers, which cannot know what the first ones had"
            )
        return cls(
            handles=tuple(handle.to_text() for handle in handles),
            delivery=delivery,
            routing=routing,
            partition_by=partition_by,
            partition_map=_partition_map(given, routing, len(handles)),
            rows_per_message=number(given, "rowspermessage", "0", int, least=0),
            offer_timeout_s=number(given, "offertimeout", "120", float),
            commit_timeout_s=number(given, "committimeout", "30", float),
            wait_consumed=choice(given, "ack", CHOICES["ack"]) == "consumed",
            driver_dir=given.get("driverdir"),
            rate=_rate(given.get("rate")),
            checkpoint=given.get("checkpointlocation", ""),
            key=_key(given.get("key")),
            keys=(*_secret_key(given.get("secretkey")), *_own_keys(handles)),
        )


def unknown(option: str, options: Iterable[str], who: str = "rstream sink") -> str:
    """The error text for an option that is not known; ``option`` in small letters."""
    close = difflib.get_close_matches(option, options, 1)
    meant = f'; did you mean "{close[0]}"?' if close else "."
    return (
        f'{who}: there is no option "{option}"{meant} The options, in any case, are '
        f"{', '.join(sorted(options))}"
    )


def _handles(text: str | None) -> list[StreamHandle]:
    if not text:
        raise ConfigError(
            'rstream sink: option "handles" is missing: give the readers\' handles, '
            "json.dumps([handle.to_text() for handle in handles])"
        )
    texts = _parsed("handles", text) if text.lstrip().startswith("[") else [text]
    if not texts:
        raise ConfigError('rstream sink: option "handles" is an empty list: give a handle or more')
    handles = [StreamHandle.from_text(one) for one in texts]
    for handle in handles:
        _check_codec(handle)
    check_distinct(handles)
    return handles


def _parsed(name: str, text: str) -> Any:
    """The value of an option that is JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f'rstream sink: option "{name}" is no JSON: {error}') from None


def _check_codec(handle: StreamHandle) -> None:
    """Refuse a reader that cannot take record batches.

    Raises:
        ConfigError: its codec is not arrow.
    """
    if handle.codec != "arrow":
        raise ConfigError(
            f"rstream sink: the reader of {handle.name!r} (node {handle.node}) has the codec "
            f"{handle.codec}, and the sink sends Arrow record batches: open the reader with "
            f"rstream.ray.committed_reader({handle.name!r}), or for delivery=eager with "
            'rstream.ray.reader(codec="arrow")'
        )


def _check_commits(handles: Iterable[StreamHandle]) -> None:
    """Refuse a reader that hands out rows as they come.

    Raises:
        ConfigError: one does.
    """
    for handle in handles:
        if handle.delivery != COMMITTED:
            raise ConfigError(
                f"rstream sink: the reader of {handle.name!r} (node {handle.node}) hands out rows "
                "as they come, and with delivery=committed (the default) it must wait for Spark's "
                f"commit: open it with rstream.ray.committed_reader({handle.name!r}), or give the "
                "option delivery=eager"
            )


def choice(
    options: dict[str, str], name: str, allowed: Sequence[str], who: str = "rstream sink"
) -> str:
    """One of the allowed values; the first is the default."""
    value = options.get(name, allowed[0]).lower()
    if value not in allowed:
        raise ConfigError(f'{who}: option "{name}" is {value!r}: must be {" or ".join(allowed)}')
    return value


def _routing(options: dict[str, str], partition_by: str | None) -> str:
    """How rows are divided; a column alone says ``key``."""
    routing = choice(options, "routing", CHOICES["routing"])
    if partition_by is not None and "routing" not in options:
        return "key"
    if (routing == "key") != (partition_by is not None):
        raise ConfigError(
            f'rstream sink: option "routing" is {routing} and "partitionBy" is '
            f"{partition_by or 'not given'}: the key is the column that partitionBy names"
        )
    return routing


def _partition_map(options: dict[str, str], routing: str, handles: int) -> dict[str, int]:
    given = _parsed("partitionMap", options.get("partitionmap", "{}"))
    found = cast("dict[str, Any]", given)
    if type(given) is not dict or any(type(index) is not int for index in found.values()):
        raise ConfigError(
            f'rstream sink: option "partitionMap" is {short(found)}: give a JSON object of values '
            'and indexes of handles, {"AA": 0, "DL": 1}'
        )
    if found and routing != "key":
        raise ConfigError(
            f'rstream sink: option "partitionMap" with routing={routing}: it needs partitionBy, '
            "the column whose values it maps"
        )
    wrong = [index for index in found.values() if not 0 <= index < handles]
    if wrong:
        raise ConfigError(
            f'rstream sink: option "partitionMap" names handle {wrong[0]}, there are {handles}'
        )
    return found


def _key(text: str | None) -> str | None:
    """Refuse what is no reference; it may be the key itself, so no text repeats it."""
    kind, _, rest = (text or "").partition(":")
    if text is not None and (kind not in ("file", "env") or not rest):
        raise ConfigError(
            'rstream sink: option "key" must be file:PATH or env:NAME',
            hint='the key itself is the option "secretKey", which Spark hides in its pages',
        )
    return text


def _secret_key(text: str | None) -> tuple[GroupKey, ...]:
    try:
        return () if text is None else (GroupKey.from_hex(text),)
    except ConfigError as error:
        raise ConfigError(f'rstream sink: option "secretKey" is {error}') from None


def _own_keys(handles: Iterable[StreamHandle]) -> set[GroupKey]:
    """Those keys of handles that this process has, or that Ray gives it if it is connected."""
    return {key for handle in handles if (key := key_of(handle.udp_channel)) is not None}


def _rate(text: str | None) -> RateLimit | None:
    """The law of ``200MB/s``, or of a text as in ``rs-rate``."""
    if text is None:
        return None
    try:
        return rates.Fixed(text) if text[:1].isdigit() else rates.from_text(text)
    except ConfigError as error:
        raise ConfigError(f'rstream sink: option "rate" is {text!r}: {error}') from None


def number(
    options: dict[str, str],
    name: str,
    default: str,
    kind: Callable[[str], float],
    *,
    least: float | None = None,
    who: str = "rstream sink",
) -> Any:
    """A number above 0, or only at the default as small as ``least``."""
    text = options.get(name, default)
    try:
        value = kind(text)
    except ValueError:
        value = 0
    if not value > 0 and not (least is not None and name not in options):
        raise ConfigError(f'{who}: option "{name}" is {text!r}: must be a number above 0')
    return value
