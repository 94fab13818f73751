"""The precision of products is set for a GPU, and put back; some have bfloat16."""

import contextlib

import pytest
import torch

from macfm.flow import _precision, fast_products, multiplies_bfloat16, tf32
from macfm.flow._precision import products


@pytest.mark.parametrize(
    ("rounded", "device", "has_it", "inside"),
    [
        (tf32, "cpu", True, "highest"),
        (tf32, "cuda", True, "high"),
        (fast_products, "cpu", False, "highest"),
        (fast_products, "cpu", True, "medium"),
        (fast_products, "cuda", True, "high"),
    ],
)
def test_a_device_rounds_factors_for_a_while(
    rounded, device, has_it, inside, monkeypatch
):
    monkeypatch.setattr(_precision, "multiplies_bfloat16", lambda device: has_it)
    before = torch.get_float32_matmul_precision()
    with contextlib.suppress(ZeroDivisionError), rounded(torch.device(device)):
        assert torch.get_float32_matmul_precision() == inside
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.skipif(
    not multiplies_bfloat16(torch.device("cpu")), reason="a CPU without bfloat16"
)
@pytest.mark.parametrize(("d_in", "d_out"), [(32, 128), (192, 256), (256, 32)])
def test_fast_products_do_not_depend_on_threads_and_batches(d_in, d_out):
    torch.manual_seed(0)
    layer = torch.nn.Linear(d_in, d_out)
    x = torch.randn(1024, d_in)
    exact = layer(x)
    n_threads = torch.get_num_threads()
    found = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            with fast_products(torch.device("cpu")), torch.no_grad():
                found += [
                    torch.cat([layer(part) for part in x.split(n_rows)])
                    for n_rows in (64, 192, 1024)
                ]
    finally:
        torch.set_num_threads(n_threads)
    assert all(torch.equal(found[0], other) for other in found)
    assert (found[0] - exact).abs().max() < 0.05


def test_inside_it_products_may_be_whole_again():
    with tf32(torch.device("cuda")):
        with products("highest"):
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "high"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"avx512_bf16": True, "amx_bf16": False}, True),
        ({"avx512_bf16": False, "amx_bf16": True}, True),
        ({"avx512_bf16": False, "avx2": True}, False),
        ({}, False),
    ],
)
def test_a_cpu_says_whether_it_has_bfloat16(told, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert multiplies_bfloat16(torch.device("cpu")) is expected
    assert multiplies_bfloat16(torch.device("cuda"))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not multiplies_bfloat16(torch.device("cpu"))


def test_a_torch_that_does_not_tell_is_taken_to_have_none(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not multiplies_bfloat16(torch.device("cpu"))
