"""The precision of products is set for a GPU, and put back; some have bfloat16."""

import contextlib

import pytest
import torch

from macfm.flow import multiplies_bfloat16, tf32
from macfm.flow._precision import products


@pytest.mark.parametrize(("device", "inside"), [("cpu", "highest"), ("cuda", "high")])
def test_a_gpu_has_less_precision_for_a_while(device, inside):
    before = torch.get_float32_matmul_precision()
    with contextlib.suppress(ZeroDivisionError), tf32(torch.device(device)):
        assert torch.get_float32_matmul_precision() == inside
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == before


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
