"""Rows for Ray Data, and batches with demand, without Ray."""

from __future__ import annotations

import contextlib
import pickle
from itertools import islice

import pytest

import rstream
from rstream.errors import (
    BackPressured,
    CodecError,
    ConfigError,
    PublisherLost,
    RemoteError,
    RStreamError,
)
from rstream.ray import Group, datasink, datasource, iter_batches, reader
from rstream.ray._rows import Rebatched, in_format, record_batches, table_of
from rstream.ray._targets import target_of
from rstream.ray._wanted import Wanted
from tests.support import in_thread, until

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ray.data", reason="Ray Data is not installed")
np = pytest.importorskip("numpy")


def rows(first, count):
    return pa.table({"x": list(range(first, first + count))})


@pytest.fixture
def end(driver_dir):
    with reader(codec="arrow", dir=driver_dir) as opened:
        yield opened


def wanted(driver_dir, name, **options):
    defaults = {
        "type": None,
        "codec": "arrow",
        "channel": None,
        "dir": driver_dir,
        "schema": None,
        "messages_max": None,
        "bytes_max": None,
        "idle_s": None,
        "stays": False,
        "on_lost": "raise",
    }
    return Wanted(name=name, **(defaults | options))


# ---- rows ----


@pytest.mark.parametrize("lengths", [[1], [3, 5], [4, 4], [1, 1, 1, 9], [10, 0, 1], [0]])
def test_batches_have_the_length_that_was_asked_for(lengths):
    tables = [rows(sum(lengths[:n]), length) for n, length in enumerate(lengths)]
    made = list(Rebatched(tables, 4))
    assert [one.num_rows for one in made[:-1]] == [4] * (len(made) - 1)
    assert [x for one in made for x in one["x"].to_pylist()] == list(range(sum(lengths)))


def test_rows_of_two_schemas_are_no_batch():
    with pytest.raises(CodecError, match=r"another schema.*batch_size=None"):
        list(Rebatched([rows(0, 1), pa.table({"y": [1]})], 4))


def test_what_is_a_row():
    schema = pa.schema([("x", pa.float32())])
    assert table_of([{"x": 1}, {"x": 2}], schema).schema == schema
    assert table_of([rows(0, 2), rows(2, 1)], schema)["x"].to_pylist() == [0, 1, 2]
    assert table_of([b"a", b"b"], None).to_pydict() == {"value": [b"a", b"b"]}
    row = {"x": np.float32(1.5), "grid": np.ones((1, 2))}
    assert table_of([row], None).to_pylist() == [{"x": 1.5, "grid": [[1, 1]]}]
    with pytest.raises(CodecError, match="items of int are no rows"):
        table_of([1], None)
    with pytest.raises(CodecError, match="do not make one table"):
        table_of([{"x": "a"}], schema)


def test_a_large_block_goes_in_parts():
    table = pa.table({"x": np.arange(10_000)})
    parts = list(record_batches(table, 8_000))
    assert max(part.nbytes for part in parts) <= 8_000
    assert pa.Table.from_batches(parts) == table
    assert list(record_batches(table.slice(0, 0), 10)) == []


# ---- batches with demand ----


@pytest.mark.parametrize("batch_format", ["pandas", "pyarrow", "numpy"])
def test_a_live_stream_in_batches(end, batch_format):
    with end.handle.publisher() as pub:
        for number in range(5):
            pub.send(rows(3 * number, 3))
        in_thread(end.finish)
        made = list(iter_batches(end, batch_size=4, batch_format=batch_format))
    assert [list(map(int, np.asarray(one["x"]))) for one in made] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
        [12, 13, 14],
    ]


def test_what_is_not_iterated_holds_the_writer(end):
    """One batch is taken: no more than what it needs counts as consumed."""
    frame = pa.table({"x": np.arange(5_000)})  # 40 KB; the window is 512 KiB
    with end.handle.publisher(linger_s=0) as pub:
        batches = iter_batches(end, batch_size=5_000, batch_format="pyarrow")
        sent = 0
        with contextlib.suppress(BackPressured):
            while sent < 1000:
                pub.send(frame, timeout_s=0.2)
                sent += 1
        assert sent < 30
        assert next(batches) == frame
        assert not pub.wait_consumed(timeout_s=0.1)
        for _ in range(sent - 1):
            next(batches)


@pytest.mark.parametrize("face", ["endpoint", "subscriber"])
def test_a_loop_that_is_left_in_a_message_leaves_its_rest(driver_dir, name, face):
    with contextlib.ExitStack() as stack:
        if face == "endpoint":
            source = stack.enter_context(reader(codec="arrow", dir=driver_dir, udp=False))
            pub = stack.enter_context(source.handle.publisher(linger_s=0))
        else:
            source = rstream.subscriber(name, codec="arrow", dir=driver_dir)
            stack.enter_context(source)
            pub = rstream.publisher(name, codec="arrow", dir=driver_dir, linger_s=0)
            stack.enter_context(pub)
        pub.send(rows(0, 10))
        got = []
        for size in (3, 3, 2):
            batch = next(iter_batches(source, batch_size=size, batch_format="numpy"))
            got.extend(batch["x"])
        assert got == list(range(8))
        assert not pub.wait_consumed(timeout_s=0.05)
        pub.send(rows(10, 2))
        batches = iter_batches(source, batch_size=4, batch_format="numpy")
        assert list(next(batches)["x"]) == [8, 9, 10, 11]


def test_the_next_reader_gets_a_message_of_which_rows_are_left(driver_dir, name):
    with rstream.publisher(name, codec="arrow", dir=driver_dir, linger_s=0) as pub:
        with rstream.subscriber(name, codec="arrow", dir=driver_dir) as first:
            for number in range(5):
                pub.send(rows(4 * number, 4))
            for batch in iter_batches(first, batch_size=3):
                if 9 in list(batch["x"]):  # rows 9 to 11: the end of the third message
                    break
            for batch in iter_batches(first, batch_size=3):
                assert list(batch["x"]) == [12, 13, 14]
                break
        with rstream.subscriber(name, codec="arrow", dir=driver_dir) as second:
            assert second.get(timeout_s=5)["x"].to_pylist() == [12, 13, 14, 15]


def test_rows_that_wait_for_a_batch_survive_an_error_of_the_stream(driver_dir, name):
    with rstream.subscriber(name, codec="arrow", dir=driver_dir) as sub:
        failing = rstream.publisher(name, codec="arrow", dir=driver_dir)
        failing.send(rows(0, 2))
        failing.fail("no more", linger_s=0)
        with pytest.raises(RemoteError):
            next(iter_batches(sub, batch_size=4))
        with rstream.publisher(name, codec="arrow", dir=driver_dir, linger_s=0) as pub:
            pub.send(rows(2, 2))
            assert list(next(iter_batches(sub, batch_size=4))["x"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("permutation", [None, [1, 0]])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_tensor_columns_of_arrow_are_arrays_too(permutation, dtype):
    pandas = pytest.importorskip("pandas")
    given = np.arange(5 * 6).reshape(5, 2, 3).astype(dtype)
    value_type = pa.from_numpy_dtype(given.dtype)
    column = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(value_type, [2, 3], permutation=permutation),
        pa.array(given.reshape(5, 6).tolist(), pa.list_(value_type, 6)),
    )
    expected = given if permutation is None else given.transpose(0, 2, 1)
    table = pa.table({"x": column, "id": range(5)})
    sliced = list(Rebatched([table.slice(0, 2), table.slice(2)], 4))
    arrays = [in_format("numpy")(one)["x"] for one in sliced]
    assert [one.dtype for one in arrays] == [given.dtype] * 2
    assert np.array_equal(np.concatenate(arrays), expected)
    frame = pandas.concat([in_format("pandas")(one) for one in sliced])
    assert np.array_equal(np.stack(list(frame["x"])), expected)
    assert in_format("numpy")(table.slice(0, 0))["x"].shape == (0, *expected.shape[1:])


def test_other_extension_columns_are_what_arrow_makes_of_them():
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\1" * 16], pa.binary(16)))
    table = pa.table({"x": column})
    assert in_format("numpy")(table)["x"].tolist() == [b"\1" * 16]
    assert in_format("pandas")(table).shape == (1, 1)


@pytest.mark.filterwarnings("default")  # Ray Data's own
@pytest.mark.parametrize("is_registered", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_tensor_columns_are_arrays_as_ray_gives_them(is_registered, dtype):
    """Where ray.data is not imported, a tensor column arrives as lists with metadata."""
    from ray.data.block import BlockAccessor

    given = np.arange(5 * 6).reshape(5, 2, 3).astype(dtype)
    many = np.empty(5, dtype=object)
    many[:] = [given[index, :, : 1 + index % 3] for index in range(5)]
    block = BlockAccessor.batch_to_block({"x": given, "many": many, "id": np.arange(5)})
    if not is_registered:
        fields, columns = [], []
        for field, column in zip(block.schema, block.columns, strict=True):
            if isinstance(field.type, pa.ExtensionType):
                meta = {
                    "ARROW:extension:name": field.type.extension_name,
                    "ARROW:extension:metadata": field.type.__arrow_ext_serialize__(),
                }
                field = pa.field(field.name, field.type.storage_type, metadata=meta)
                column = column.combine_chunks().storage
            fields.append(field)
            columns.append(column)
        block = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    sliced = Rebatched([block.slice(0, 2), block.slice(2)], 4)
    made = [in_format("numpy")(table) for table in sliced]
    assert [one["x"].dtype for one in made] == [np.dtype(dtype)] * 2
    assert np.array_equal(np.concatenate([one["x"] for one in made]), given)
    for had, got in zip(many, (row for one in made for row in one["many"]), strict=True):
        assert got.dtype == had.dtype
        assert np.array_equal(got, had)
    frame = in_format("pandas")(block)
    assert np.array_equal(np.stack([np.asarray(row) for row in frame["x"]]), given)


def test_arguments_of_batches(end):
    with pytest.raises(ConfigError, match="batch_size=0"):
        iter_batches(end, batch_size=0)
    with pytest.raises(ConfigError, match="batch_format='torch'"):
        iter_batches(end, batch_format="torch")
    with pytest.raises(ConfigError, match=r"no pyarrow\.Schema"):
        iter_batches(end, schema={"x": int})


# ---- the sink ----


def test_a_handle_or_a_name_twice_is_refused(end):
    with pytest.raises(ConfigError, match="handles 0 and 1 of the list"):
        datasink([end.handle, end.handle])
    with pytest.raises(ConfigError, match="'ticks' is there twice"):
        datasource(["ticks", "other", "ticks"])


def blocks_of(*tables):
    return iter(tables)


def test_a_sink_travels_and_writes(end):
    sink = pickle.loads(pickle.dumps(datasink(end.handle, batch_bytes=80)))
    got = []
    end.start(got.append)
    assert sink.write(blocks_of(rows(0, 15), rows(15, 0), rows(15, 5)), None) == {
        "rows": 20,
        "messages": 3,
    }
    assert [batch.num_rows for batch in got] == [10, 5, 5]


def test_a_sink_for_a_stream_by_name(driver_dir, name):
    got = []
    with rstream.subscriber(name, codec="arrow", dir=driver_dir) as sub:
        thread = in_thread(lambda: got.extend(sub))
        datasink(name, channel="aeron:ipc", dir=driver_dir).write(blocks_of(rows(0, 3)), None)
        thread.join(20)
    assert [batch.num_rows for batch in got] == [3]


@pytest.mark.parametrize("tasks", [0, 1, 3])
@pytest.mark.parametrize("face", ["handle", "group", "name"])
def test_a_reader_that_does_not_stay_ends_with_the_job(driver_dir, name, face, tasks):
    """It ended with the first write task: a training loop had 1 000 of 20 000 rows."""
    if face == "name":
        opened = rstream.subscriber(name, codec="arrow", dir=driver_dir)
        sink = datasink(name, channel="aeron:ipc", dir=driver_dir)
    else:
        opened = reader(codec="arrow", dir=driver_dir, udp=False, stays=False)
        sink = datasink([opened.handle] if face == "group" else opened.handle)
    got = []
    with opened as source:
        thread = in_thread(lambda: got.extend(len(one) for one in iter_batches(source)))
        if tasks:
            sink.on_write_start()
        for number in range(tasks):
            pickle.loads(pickle.dumps(sink)).write(blocks_of(rows(number, 300)), None)
            source.events()
        sink.on_write_complete(None)
        thread.join(20)
        assert not thread.is_alive()
    assert sum(got) == 300 * tasks


def test_a_job_that_fails_ends_its_readers_with_the_error(driver_dir):
    with reader(codec="arrow", dir=driver_dir, udp=False, stays=False, on_lost="raise") as end:
        ended = []
        end.start(lambda batch: None, on_error=ended.append)
        sink = datasink(end.handle)
        sink.on_write_start()
        sink.write(blocks_of(rows(0, 3)), None)
        sink.on_write_failed(ValueError("no room"))
        until(lambda: ended)
    assert "no room" in str(ended)


def test_a_sink_for_a_group_writes_to_each_member(driver_dir):
    with contextlib.ExitStack() as stack:
        ends = [
            stack.enter_context(reader(codec="arrow", dir=driver_dir, udp=False)) for _ in range(2)
        ]
        got = [[] for _ in ends]
        for one, into in zip(ends, got, strict=True):
            one.start(into.append)
        with Group([one.handle for one in ends]) as group:
            sink = pickle.loads(pickle.dumps(datasink(group)))
        assert sink.write(blocks_of(rows(0, 3)), None) == {"rows": 3, "messages": 1}
        assert not sink.supports_distributed_writes  # nobody else sees this shared memory
        assert [[batch.num_rows for batch in into] for into in got] == [[3], [3]]


def test_a_reader_that_stands_still_fails_the_write(end, monkeypatch, caplog):
    monkeypatch.setattr("rstream.ray._ray_data.NOTICE_AFTER_S", 0.1)
    sink = datasink(end.handle, timeout_s=0.3, linger_s=0.1)
    with pytest.raises(BackPressured, match=r"has consumed nothing for 0\.3 s"):
        sink.write(blocks_of(rows(0, 3)), None)
    (notice,) = [one for one in caplog.messages if "write task" in one]
    assert "its reader has taken nothing for 0.1 s of what this write task has sent" in notice
    assert "read in another thread or program" in notice


@pytest.mark.parametrize("members", [1, 2])
def test_rows_that_a_driver_took_with_it_fail_the_write(make_driver_dir, members):
    directory = make_driver_dir()
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(rstream.Driver(dir=directory))
        opened = [reader(codec="arrow", dir=directory, udp=False) for _ in range(members)]
        handles = [one.handle for one in opened]

        def blocks():
            yield rows(0, 3)  # nobody has read them
            first.close()
            stack.enter_context(rstream.Driver(dir=directory))
            for one in opened:
                stack.callback(one.close)
                one.start(lambda batch: None)
            yield rows(3, 3)

        sink = datasink(handles if members > 1 else handles[0], dir=directory)
        with pytest.raises(RStreamError, match=r"may be lost|driver was lost"):
            sink.write(blocks(), None)


def test_a_reader_that_fails_fails_the_write(end):
    def on_item(item):
        raise ValueError("no such model")

    end.start(on_item)
    with pytest.raises(RemoteError, match="no such model"):
        datasink(end.handle).write(blocks_of(rows(0, 3)), None)


def test_a_block_that_cannot_be_made_is_told_to_the_reader(end):
    def blocks():
        yield rows(0, 1)
        raise KeyError("column")

    with pytest.raises(KeyError):
        datasink(end.handle, linger_s=0.1).write(blocks(), None)
    got, told = [], []
    until(lambda: got.extend(end.source.poll()) or told.extend(end.events()) or len(told) > 1, 20)
    assert [batch.num_rows for batch in got] == [1]
    assert "KeyError" in str(told)


def test_targets_that_cannot_be(driver_dir, end):
    with reader(dir=driver_dir) as msgpack, pytest.raises(ConfigError, match="codec msgpack"):
        datasink(msgpack.handle)
    with pytest.raises(ConfigError, match="no handle"):
        datasink([])
    with pytest.raises(ConfigError, match="only with the name"):
        datasink(end.handle, channel="aeron:ipc")
    assert target_of(str(end.handle), None, None, {}).handles == (end.handle,)
    assert not target_of("ticks", "aeron:ipc", None, {}).reaches_all_nodes
    assert target_of("ticks", None, None, {}).reaches_all_nodes


# ---- the source ----


def reading(driver_dir, name, **options):
    """Reads in a thread; the list grows."""
    got = []
    task = wanted(driver_dir, name, channel="aeron:ipc", **options)
    return got, in_thread(lambda: [got.append(table) for table in task.tables()])


@pytest.mark.parametrize(
    ("bounds", "count"),
    [({}, 30), ({"messages_max": 7}, 7), ({"bytes_max": 8 * 5 * 10 - 7}, 10)],
)
def test_what_ends_a_read(driver_dir, name, bounds, count):
    got, thread = reading(driver_dir, name, **bounds)
    with (
        rstream.subscriber(name, codec="arrow", dir=driver_dir) as other,  # stays to the end
        rstream.publisher(name, codec="arrow", dir=driver_dir, wait_for=2) as pub,
    ):
        for number in range(30):
            pub.send(rows(number, 5))
        assert len(list(islice(other, 30))) == 30
        pub.close()
        thread.join(20)
    assert not thread.is_alive()
    assert sum(table.num_rows for table in got) == 5 * count


def test_silence_ends_a_read_that_stays(driver_dir, name):
    got, thread = reading(driver_dir, name, idle_s=0.5, stays=True)
    with rstream.publisher(name, codec="arrow", dir=driver_dir) as pub:
        pub.send(rows(0, 5))
        thread.join(20)
        assert not thread.is_alive()
    assert [table.num_rows for table in got] == [5]


def test_a_writer_that_fails_ends_a_read_with_its_error(driver_dir, name):
    tables = wanted(driver_dir, name, channel="aeron:ipc").tables()
    errors = []

    def read():
        try:
            list(tables)
        except (RemoteError, PublisherLost) as error:
            errors.append(error)

    thread = in_thread(read)
    with (
        pytest.raises(ZeroDivisionError),
        rstream.publisher(name, codec="arrow", dir=driver_dir) as pub,
    ):
        pub.send(rows(0, 5))
        raise ZeroDivisionError
    thread.join(20)
    assert "ZeroDivisionError" in str(errors)


def test_a_source_has_a_task_for_each_name_and_needs_an_end(driver_dir):
    source = datasource(["a", "b"], bytes_max=100, dir=driver_dir)
    assert len(source.get_read_tasks(7)) == 2
    assert source.estimate_inmemory_data_size() == 200
    with pytest.raises(ConfigError, match="would never end"):
        datasource("a", stays=True)
    with pytest.raises(ConfigError, match="messages_max=0"):
        datasource("a", messages_max=0)
