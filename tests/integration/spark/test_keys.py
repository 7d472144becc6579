"""Spark's sink and source over UDP with a key: the tasks have a driver directory of their own."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import in_thread, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

ROWS = 500


@pytest.fixture
def hosts(make_driver_dir: Any) -> Iterator[tuple[str, str]]:
    """The directories of the reader's driver, and of the one that Spark's tasks use."""
    import rstream

    with rstream.Driver(make_driver_dir()) as near, rstream.Driver(make_driver_dir()) as far:
        yield near.dir, far.dir


@pytest.fixture
def reader(hosts: tuple[str, str]) -> Iterator[Any]:
    """A reading end with a key, and what it got."""
    import rstream.ray
    from rstream.keys import GroupKey

    key = GroupKey.new()
    end = rstream.ray.committed_reader(
        "keyed-rows", dir=hosts[0], host="127.0.0.1", term_length=1 << 18, key=key
    )
    batches: list[Any] = []
    end.start(batches.append)
    with contextlib.closing(end):
        yield end, key, batches


def values(batches: list[Any]) -> Counter[int]:
    return Counter(row["id"] for batch in batches for row in batch.to_pylist())


def is_hidden(key: Any, folder: Path) -> bool:
    texts = (file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return not any(key.secret.hex().encode() in text or key.secret in text for text in texts)


@pytest.mark.parametrize("how", ["secretKey", "key"])
def test_a_query_gives_its_tasks_the_key(
    spark_session: Any, hosts: tuple[str, str], reader: Any, tmp_path: Path, how: str
) -> None:
    """Committed delivery asks the reading end questions, by a service with the same key."""
    import rstream.spark
    from rstream import keys

    end, key, batches = reader
    rstream.spark.register(spark_session)
    keys.write_file(tmp_path / "group.key", [key])
    given = {"secretKey": key.secret.hex(), "key": f"file:{tmp_path / 'group.key'}"}
    (tmp_path / "in").mkdir()
    for number in range(2):
        lines = map(str, range(number * ROWS, (number + 1) * ROWS))
        (tmp_path / "in" / f"{number}.csv").write_text("\n".join(lines))
    (
        spark_session.readStream.schema("id LONG")
        .csv(str(tmp_path / "in"))
        .writeStream.format("rstream")
        .option("handles", end.handle.to_text())
        .option("driverDir", hosts[1])
        .option(how, given[how])
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    until(lambda: values(batches) == Counter(range(2 * ROWS)))
    assert is_hidden(key, tmp_path / "checkpoint")


def test_a_query_without_the_key_says_so(
    spark_session: Any, hosts: tuple[str, str], reader: Any
) -> None:
    import rstream.spark

    end, key, batches = reader
    rstream.spark.register(spark_session)
    rows = spark_session.range(ROWS).write.format("rstream").mode("append")
    rows = rows.option("handles", end.handle.to_text()).option("driverDir", hosts[1])
    with pytest.raises(Exception, match=f"this process has no key {key.id}") as refused:
        rows.save()
    assert 'give the option "secretKey"' in str(refused.value)
    assert key.secret.hex() not in str(refused.value)
    assert not batches


def test_the_program_hands_its_keys_to_the_tasks(
    spark_session: Any, hosts: tuple[str, str], reader: Any
) -> None:
    """It has the reader itself, so it has the key."""
    import rstream.spark

    end, _, batches = reader
    rstream.spark.send(spark_session.range(ROWS), end.handle, driverDir=hosts[1])
    until(lambda: values(batches) == Counter(range(ROWS)))


def test_spark_hides_the_secret_key_in_its_pages(spark_session: Any) -> None:
    for name in ("spark.redaction.regex", "spark.sql.redaction.options.regex"):
        pattern = spark_session.conf.get(name, "(?i)secret|password|token|access[.]?key")
        assert re.search(pattern, "secretKey"), name


def test_the_source_reads_with_a_key(
    spark_session: Any, hosts: tuple[str, str], tmp_path: Path
) -> None:
    import rstream.spark
    from rstream import keys
    from rstream.keys import GroupKey
    from tests.support import free_port

    rstream.spark.register(spark_session)
    near, far = hosts
    path = tmp_path / "group.key"
    keys.write_file(path, [GroupKey.new()])
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with rstream.publisher(
        "ticks", channel=channel, key=f"file:{path}", dir=near, connect_timeout_s=60
    ) as pub:

        def send() -> None:
            pub.send_many([{"id": number} for number in range(ROWS)], timeout_s=60)
            pub.close()

        sends = in_thread(send)
        rows = (
            spark_session.read.format("rstream")
            .schema("id LONG")
            .option("channel", channel)
            .option("key", f"file:{path}")
            .option("driverDir", far)
            .load("ticks")
            .collect()
        )
        sends.join(60)
    assert Counter(row.id for row in rows) == Counter(range(ROWS))
