"""Results of several values: each value has the name and the type that rstream/_core.pyi says."""

from __future__ import annotations

import ast
import pickle
import types
from pathlib import Path
from typing import Any

import pytest

import rstream
from rstream import _core
from rstream.client import Client
from rstream.driver import Driver
from tests.binding._util import pair, receive, run_python, send, until
from tests.support import free_port

STUB = ast.parse((Path(rstream.__file__).parent / "_core.pyi").read_text())
#: It costs less, and is read where a message comes.
TUPLES = {"decode_header"}
TYPES = {"int": int, "bool": bool, "str": str, "None": types.NoneType}


def stub_fields(record: ast.ClassDef) -> dict[str, str]:
    """The names of the values with their types, in the order of the stub."""
    fields: dict[str, str] = {}
    for line in record.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.annotation, ast.Subscript):
            assert isinstance(line.target, ast.Name)
            fields[line.target.id] = ast.unparse(line.annotation.slice)
    return fields


RECORDS = {
    node.name: stub_fields(node)
    for node in STUB.body
    if isinstance(node, ast.ClassDef) and "structseq" in ast.unparse(node.bases[:1] or [])
}


def values_of(directory: str, client: Client, onlooker: Client) -> list[Any]:
    """One of each, as the extension makes them."""
    publication, subscription = pair(client)
    send(publication, b"x")
    port = free_port()
    remote = client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", 7)
    sender = client.add_publication(f"aeron:udp?endpoint=127.0.0.1:{port}", 7, exclusive=True)
    until(lambda: remote.is_connected and sender.is_connected)
    found = [
        until(subscription.core.next_event),
        *subscription.core.images(),
        publication.core.demand,
        publication.core.left,
        publication.core.left_who,
        subscription.core.held,
        subscription.core.segments,
        *_core.read_clients(directory),
        *until(lambda: _core.read_holders(directory)),
        _core.read_held_by(directory, publication.registration_id),
        _core.read_last_reader(directory, publication.registration_id),
        _core.read_segments(directory, publication.registration_id),
        _core.driver_info(directory),
        *_core.driver_options(),
        *_core.aeron_names(),
        *_core.read_counters(directory),
    ]
    client.add_counter(1001, "mine", key=b"")
    found.append(until(onlooker.core.next_counter_event))
    found.append(onlooker.core.read_counter(0))
    assert receive(subscription, 1) == [b"x"]
    (image,) = remote.core.images()
    remote.reject(image.correlation_id, "no")
    found.append(until(sender.core.next_error))
    assert publication.core.append_padding(publication.term_length) == _core.ERROR
    found.append(_core.last_error())
    found += until(lambda: _core.read_errors(directory))
    return found


def test_each_value_has_its_name_and_type(driver: Driver, driver_dir: str, client: Client) -> None:
    with Client(driver_dir, start_driver=False, name="onlooker") as onlooker:
        found = values_of(driver_dir, client, onlooker)
    assert {type(one).__name__ for one in found} == RECORDS.keys() - {"LossFacts"}
    for one in found:
        fields = RECORDS[type(one).__name__]
        assert type(one).__match_args__ == tuple(fields)
        for (name, wanted), value in zip(fields.items(), one, strict=True):
            assert getattr(one, name) is value
            if wanted.startswith("list"):
                assert isinstance(value, list)
            elif wanted == "_ImageEventKind":
                assert value == "available"
            else:
                assert type(value) in [TYPES[word] for word in wanted.split(" | ")], (one, name)
        assert pickle.loads(pickle.dumps(one)) == one == tuple(one)


@pytest.mark.parametrize("name", RECORDS)
def test_the_stub_has_the_names_in_their_order(name: str) -> None:
    record = getattr(_core, name)
    assert record.__match_args__ == tuple(RECORDS[name])
    assert record.__module__ == "rstream._core"
    with pytest.raises(TypeError):
        record(())


def test_results_of_three_values_and_more_have_names() -> None:
    """What users of the extension read by a number is wrong as soon as a value is added."""
    found = set()
    for node in ast.walk(STUB):
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            for part in ast.walk(node.returns):
                is_tuple = isinstance(part, ast.Subscript) and ast.unparse(part.value) == "tuple"
                if is_tuple and len(getattr(part.slice, "elts", ())) > 2:
                    found.add(node.name)
    assert found == TUPLES


NO_MEMORY = """
    import sys
    import _testcapi
    from rstream import _core
    from rstream.client import Client

    with Client(sys.argv[1], start_driver=False) as client:
        s = client.add_subscription("aeron:ipc", 7)
        p = client.add_publication("aeron:ipc", 7)
        while not (p.is_connected and s.is_connected):
            pass
        number = p.registration_id
        calls = (
            s.core.peek_event, s.core.images, lambda: s.core.held, lambda: s.core.segments,
            lambda: p.core.left, lambda: p.core.left_who, lambda: p.core.demand,
            lambda: _core.read_clients(sys.argv[1]), lambda: _core.read_counters(sys.argv[1]),
            lambda: _core.read_held_by(sys.argv[1], number), lambda: client.core.read_counter(0),
            lambda: _core.read_last_reader(sys.argv[1], number), _core.aeron_names,
            lambda: _core.read_segments(sys.argv[1], number), _core.driver_options,
        )
        types = [one for one in vars(_core).values() if hasattr(one, "n_fields")]
        for call in calls:
            call()
            before = [sys.getrefcount(one) for one in types]
            failed, blocks = 0, sys.getallocatedblocks()
            for at in range(60):
                result = None
                _testcapi.set_nomemory(at, at + 1)
                try:
                    result = call()
                except MemoryError:
                    failed += 1
                finally:
                    _testcapi.remove_mem_hooks()
            result = None
            assert failed > 0, call
            assert [sys.getrefcount(one) for one in types] == before, call
            left = sys.getallocatedblocks() - blocks
            assert left < 30, (call, left)
"""


def test_each_allocation_may_fail(driver: Driver, driver_dir: str) -> None:
    """No record is left behind, and nothing crashes."""
    pytest.importorskip("_testcapi")
    run_python(NO_MEMORY, driver_dir)
