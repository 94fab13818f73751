"""The precision of products is set for a GPU, and put back."""

import contextlib

import pytest
import torch

from macfm.flow import tf32
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
