"""Each public name stands on a page of the API, and has a docstring with an example that holds.

An example is a block of code in the docstring of the name, or one in the docstring of its module
that uses it. Names that need none are listed with the reason. In an example every name of rstream
must exist, and every call of it must fit its signature.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import rstream

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference" / "api"
#: Its page is docs/reference/errors.md: what raises each of them, and what to do.
ERRORS = "rstream.errors"
OPTIONAL = {
    "rstream.aio": "anyio",
    "rstream.prometheus": "prometheus_client",
    "rstream.ray": "ray",
    "rstream.rx": "reactivex",
    "rstream.spark": "pyspark",
}
RETURNED = "a value that rstream returns; its attributes are all that it is"
#: Names without an example, and why.
WITHOUT_EXAMPLE = {
    "rstream.abc": {
        "Processor": "stream.processor makes one; the example there",
        "Publisher": "stream.source makes one; the example there",
        "Subscription": "in the example of Subscriber, as its argument",
    },
    "rstream.aio": {
        "AnswerStream": "request_stream returns it",
        "Requester": "requester returns it; the example there",
        "close_requesters": "a call without arguments",
        "run_service": "Service.run calls it for async functions",
    },
    "rstream.client": {
        "Batch": "poll returns it; the example of Subscription",
        "ChannelStatus": RETURNED,
        "Claim": "try_claim returns it; the docstring there",
        "Counter": "Client.add_counter returns it; the docstring there",
        "CounterEvent": RETURNED,
        "CounterReading": RETURNED,
        "Image": RETURNED,
        "ImageEvent": RETURNED,
        "Message": "Batch.messages returns it; the docstring there",
        "ReceiverError": RETURNED,
        "reason_name": "a text for a number",
    },
    "rstream.codecs": {"Codec": "a protocol; docs/how-to/codecs.md writes one"},
    "rstream.config": {"DriverSettings": "the keywords of Driver; the example there"},
    "rstream.metrics": dict.fromkeys(
        (
            "Counter",
            "ImageState",
            "Loss",
            "PathState",
            "PublicationState",
            "RateState",
            "StreamCounter",
            "SubscriptionState",
        ),
        RETURNED,
    ),
    "rstream.ray": {"MemberBack": RETURNED, "MemberLost": RETURNED, "Missed": RETURNED},
    "rstream.rx": {
        "AsyncItems": "to_async_iterable returns it; the example there",
        "AsyncItemsIterator": "iterating AsyncItems makes it",
        "EndpointLike": "a protocol; ray.Endpoint is one",
        "HandleLike": "a protocol; ray.StreamHandle is one",
    },
    "rstream.service": {
        "AnswerStream": "request_stream returns it",
        "CallOptions": "the keywords of request",
        "Requester": "requester returns it",
        "ServedCall": "current_call returns it",
        "Service": "serve returns it; the example there",
        "close_requesters": "a call without arguments",
    },
    "rstream.ledger": {
        "Ledger": "a protocol; MemoryLedger is one",
        "Marks": RETURNED,
        "Recalled": "what Ledger.recall returns",
    },
    "rstream.spark": {"Marks": RETURNED, "Sent": RETURNED},
    "rstream.stages": {
        "BroadcastHub": "broadcast_hub returns it; the example there",
        "Buffered": "buffer returns it; the example there",
        "Clock": "a protocol; VirtualClock is one",
        "MergeHub": "merge_hub returns it; the example there",
        "PartitionHub": "partition_hub returns it; the example there",
        "SourceQueue": "source_queue returns it; the example there",
        "SystemClock": "the default of every stage with a clock",
    },
    "rstream.stream": {
        **dict.fromkeys(
            (
                "Available",
                "Completed",
                "Connected",
                "Disconnected",
                "Evicted",
                "Failed",
                "Gap",
                "Lost",
                "PeerRefused",
                "Refused",
                "Rejected",
                "SessionChanged",
                "Unavailable",
            ),
            "an event: a value that events() returns",
        ),
        "Executor": "a protocol; CallerExecutor is one",
        "MapProcessor": "processor returns it; the example there",
        "Publisher": "publisher returns it; the example there",
        "PublisherOptions": "the keywords of publisher; the example there",
        "Reader": "reader returns it; the example there",
        "SendOptions": "the keywords of publisher; the example there",
        "Subscriber": "subscriber returns it; the example there",
        "SubscriberOptions": "the keywords of subscriber; the example there",
    },
    "rstream.tck": {
        "Environment": "the time-outs of a verification; the text of the module",
        "Probe": "an argument of SubscriberWhiteboxVerification.create_subscriber",
        "SubscriberWhiteboxVerification": "docs/how-to/testing.md",
        "Upstream": "the subscription that a subscriber under test gets",
        "Verification": "the base of the others, which have the example",
    },
    "rstream.testing": {
        "Complete": RETURNED,
        "Error": RETURNED,
        "Next": RETURNED,
        "StepVerifier": "verify returns it; the example there",
        "Violation": "docs/how-to/testing.md",
    },
    "rstream.work": {
        "Job": "a Subscriber gives it; the example of the module",
        "Publisher": "publisher returns it; the example there",
        "Subscriber": "subscriber returns it; the example there",
        "Unfinished": RETURNED,
    },
}


def documented() -> list[str]:
    """The modules with an API page."""
    found = {
        name
        for page in PAGES.glob("*.md")
        for name in re.findall(r"automodule:: ([\w.]+)", page.read_text())
    }
    assert len(found) > 10
    return sorted(found)


def load(name: str) -> ModuleType:
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    return importlib.import_module(name)


def is_described(value: object) -> bool:
    """Whether a docstring can describe it: constants and aliases have a comment in the source."""
    return inspect.isclass(value) or inspect.isroutine(value)


def blocks(text: str | None) -> list[str]:
    """The blocks of code in a docstring: what is indented by four beyond its text."""
    found: list[list[str]] = []
    is_code = False
    before = ""
    for line in inspect.cleandoc(text or "").splitlines():
        if line.startswith("    ") and (is_code or (not before.strip())):
            if not is_code:
                found.append([])
            is_code = True
            found[-1].append(line)
        elif line.strip():
            is_code = False
        elif is_code:
            found[-1].append(line)
        before = line
    return [textwrap.dedent("\n".join(lines)) for lines in found]


def names_of(module: ModuleType) -> dict[str, Any]:
    """What an example of the module may name without importing it."""
    short = module.__name__.rpartition(".")[2]
    public = {name: getattr(module, name) for name in module.__all__}
    # `client` is an object there, as in any program.
    return {"rstream": rstream, **({} if short == "client" else {short: module}), **public}


def problems(code: str, known: dict[str, Any]) -> Iterator[str]:
    """Names of rstream that do not exist, and calls that do not fit."""

    def resolve(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return known.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = resolve(node.value)
            if inspect.ismodule(owner) or (inspect.isclass(owner) and owner is not type):
                return getattr(owner, node.attr)
        return None

    tree = ast.parse(code)
    known = dict(known)
    for node in ast.walk(tree):  # what the example itself makes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.pop(node.id, None)
    for node in ast.walk(tree):
        try:
            if isinstance(node, ast.Attribute):
                resolve(node)
            elif isinstance(node, ast.Call) and (called := resolve(node.func)) is not None:
                keywords = {word.arg: None for word in node.keywords if word.arg}
                inspect.signature(called).bind(*[None] * len(node.args), **keywords)
        except (AttributeError, TypeError) as error:
            yield f"{ast.unparse(node)}: {error}"


def test_every_public_module_has_a_page() -> None:
    public = {*rstream.__all__, *rstream._LAZY_MODULES}
    files = {path.stem for path in (ROOT / "rstream").iterdir()}
    assert {f"rstream.{name}" for name in public & files} - {ERRORS} <= set(documented())


@pytest.mark.parametrize("name", documented())
def test_each_public_name_has_a_docstring(name: str) -> None:
    module = load(name)
    without = [
        one
        for one in module.__all__
        if is_described(value := getattr(module, one))
        and (value.__doc__ is None or value.__doc__ == getattr(type(value), "__doc__", None))
    ]
    assert not without


@pytest.mark.parametrize("name", documented())
def test_each_public_name_has_an_example_or_a_reason(name: str) -> None:
    module = load(name)
    of_module = re.sub("#.*", "", "\n".join(blocks(module.__doc__)))
    reasons = WITHOUT_EXAMPLE.get(name, {})
    without, needless = [], []
    for one in module.__all__:
        value = getattr(module, one)
        has_example = bool(
            blocks(value.__doc__) if is_described(value) and "::" in (value.__doc__ or "") else ()
        ) or bool(re.search(rf"\b{one}\b", of_module))
        if is_described(value) and not has_example and one not in reasons:
            without.append(one)
        if has_example and one in reasons:
            needless.append(one)
    assert not without, f"{name}: give an example, or a reason in {__file__}"
    assert not needless, f"{name}: they have an example; take their reason away"
    assert set(reasons) <= set(module.__all__)


@pytest.mark.parametrize("name", documented())
def test_examples_name_what_exists(name: str) -> None:
    module = load(name)
    known = names_of(module)
    texts = [module.__doc__]
    texts += [value.__doc__ for value in known.values() if is_described(value)]
    found = []
    for text in texts:
        for code in blocks(text) if "::" in (text or "") or text is module.__doc__ else ():
            try:
                found += problems(code, known)
            except SyntaxError:
                continue  # a list, a picture, or two programs beside each other
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("rstream.publicher('ticks')", "publicher"),
        ("rstream.Client(nonsense=1)", "nonsense"),
        ("codecs.named()", "missing"),
    ],
)
def test_a_wrong_example_is_caught(code: str, problem: str) -> None:
    found = "".join(problems(code, names_of(importlib.import_module("rstream.codecs"))))
    assert problem in found
