"""Tensors of torch and JAX in objects and alone; what needs neither is in ``test_buffers.py``.

The oracle is the package: values, dtype and shape of what was sent.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

import rstream
from rstream import codecs
from rstream.errors import CodecError
from tests.support import free_port

torch = pytest.importorskip("torch")


def sent(obj, reader=None):
    data = codecs.msgpack().encode(obj)
    message = b"".join(data) if isinstance(data, list) else data
    return (reader or codecs.msgpack()).decode_many([message])[0]


def bits_of(tensor):
    plain = tensor.detach().resolve_conj().resolve_neg()
    return plain.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


def assert_same(got, wanted):
    assert type(got) is torch.Tensor
    assert (got.dtype, got.shape, got.requires_grad) == (wanted.dtype, wanted.shape, False)
    assert torch.equal(bits_of(got), bits_of(wanted))


DTYPES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64",
    "uint32", "uint16", "uint8", "bool", "complex128", "complex64", "complex32", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("name", DTYPES)
def test_each_dtype(name):
    if not hasattr(torch, name):
        pytest.skip(f"this torch has no {name}")
    dtype = getattr(torch, name)
    tensor = torch.arange(1, 1 + 6 * dtype.itemsize).to(torch.uint8)
    tensor = (tensor % 2 == 0)[:6] if dtype is torch.bool else tensor.view(dtype)
    for one in (tensor, tensor.reshape(2, 3).T, tensor[0], tensor[:0].reshape(0, 3)):
        assert_same(sent({"t": [one]})["t"][0], one)


TENSORS = {
    "strided": torch.arange(12.0).reshape(3, 4)[:, ::2],
    "expanded": torch.arange(3.0).expand(4, 3),
    "channels last": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "with a gradient": torch.ones(3, requires_grad=True),
    "of a graph": torch.ones(3, requires_grad=True) * 2,
    "a parameter": torch.nn.Parameter(torch.ones(2)),
    "conjugated": torch.tensor([1 + 2j]).conj(),
    "negated": torch.tensor([1 + 2j]).conj().imag,
    "large": torch.arange(200_000).to(torch.bfloat16).reshape(200, 1000),
}


@pytest.mark.parametrize("options", [{}, {"view": True}, {"writable": True}], ids=str)
@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_each_kind_of_memory(tensor, options):
    for obj in (tensor, {"a": [tensor]}):
        back = sent(obj, codecs.msgpack(**options))
        back = back["a"][0] if isinstance(obj, dict) else back
        assert_same(back, tensor)
        back.zero_()  # it may be changed


class Step(msgspec.Struct):
    weights: torch.Tensor
    parts: dict[str, list[torch.Tensor]]
    array: npt.NDArray[np.float32] | None = None


@dataclasses.dataclass
class Sample:
    x: torch.Tensor
    label: int


def test_fields_of_tensors_and_arrays():
    step = Step(torch.ones(2, 3), {"a": [torch.zeros(1, dtype=torch.bfloat16)]}, np.ones(2, "f4"))
    back = sent(step, codecs.msgpack(Step))
    assert_same(back.weights, step.weights)
    assert_same(back.parts["a"][0], step.parts["a"][0])
    assert back.array.tolist() == [1, 1]
    back = sent(Sample(torch.ones(2), 3), codecs.msgpack(Sample))
    assert (type(back), back.label) == (Sample, 3)
    assert_same(back.x, torch.ones(2))
    # Each stands for the other.
    back = sent(Step(np.ones(2), {}, torch.ones(2)), codecs.msgpack(Step))
    assert_same(back.weights, torch.ones(2, dtype=torch.float64))
    assert type(back.array) is np.ndarray
    with pytest.raises(CodecError, match="array of float64, this reader expects float32"):
        sent(Step(torch.ones(1), {}, torch.ones(1, dtype=torch.float64)), codecs.msgpack(Step))


def model():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


def test_the_state_of_a_model_can_be_loaded():
    state = model().state_dict()
    other = model()
    other.load_state_dict(sent({"model": state, "epoch": 3})["model"])
    for key, tensor in other.state_dict().items():
        assert_same(tensor, state[key])


@pytest.mark.filterwarnings("ignore")  # sparse, quantized and nested ones warn
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.eye(3).to_sparse(), r"w: a tensor on cpu, torch.sparse_coo.*to_dense\(\)"),
        (lambda: torch.empty(3, device="meta"), r"w: a tensor on meta.*tensor\.cpu\(\)"),
        (
            lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
            r"w: a tensor of torch.qint8: .*tensor\.to\(torch\.float32\)",
        ),
        (lambda: torch.nn.Linear(1, 1), "w: Encoding objects of type torch.nn.modules"),
    ],
    ids=["sparse", "meta", "quantized", "module"],
)
def test_what_does_not_go_is_refused_with_what_to_send(make, text):
    with pytest.raises(CodecError, match=text):
        codecs.msgpack().encode({"w": make()})


def test_a_publisher_of_arrays_takes_tensors_that_numpy_can_read():
    codec = codecs.numpy()
    assert codec.decode_many([codec.encode(torch.ones(2))])[0].tolist() == [1, 1]
    with pytest.raises(CodecError, match=r"Tensor is no array of numpy: .*tensor\.detach\(\)"):
        codec.encode(torch.ones(2, requires_grad=True))
    with pytest.raises(CodecError, match=r"Tensor is no array of numpy: .*BFloat16"):
        codec.encode(torch.ones(2, dtype=torch.bfloat16))


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("type_", [None, Step], ids=["untyped", "typed"])
def test_a_stream_of_tensors(module_driver_dir, name, medium, type_):
    options: dict[str, Any] = {"dir": module_driver_dir}
    if medium == "udp":
        options["channel"] = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    weights = [torch.arange(count).to(torch.bfloat16) for count in (3, 5_000, 1_000_000)]
    with (
        rstream.subscriber(name, type_, **options) as sub,
        rstream.publisher(name, type_, linger_s=5, **options) as pub,
        ThreadPoolExecutor(1) as sender,  # a large message waits for its reader
    ):
        for each in weights:
            step = Step(each, {"a": [each[::2], torch.tensor(1.5)]})
            sender.submit(pub.send, step if type_ else msgspec.structs.asdict(step))
            back = sub.get(timeout_s=20)
            back = msgspec.structs.asdict(back) if type_ else back
            assert_same(back["weights"], each)
            for got, wanted in zip(back["parts"]["a"], step.parts["a"], strict=True):
                assert_same(got, wanted)


def test_arrays_of_jax_arrive_as_arrays():
    jax = pytest.importorskip("jax")
    for array in (jax.numpy.arange(6.0).reshape(2, 3).T, jax.numpy.float32(1), jax.numpy.ones(0)):
        back = sent({"a": array})["a"]
        assert (type(back), back.dtype, back.shape) == (np.ndarray, array.dtype, array.shape)
        assert np.array_equal(back, np.asarray(array))
    with pytest.raises(CodecError, match=r"a: ArrayImpl cannot be read as an array: .*astype"):
        codecs.msgpack().encode({"a": jax.numpy.ones(2, "bfloat16")})
