"""Values of a kernel's work-items across barriers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import onexpu

_BLOCK = 64


def _kernel(values: str) -> onexpu.SyclKernel:
    """Returns a kernel whose result is a value of before a barrier plus the next work-item's x."""
    return onexpu.sycl_kernel(
        f"""
        template <typename T, int block>
        ONEXPU_KERNEL void across(const T* x, T* y) {{
          sycl::ext::oneapi::experimental::work_group_static<T[block]> tile;
          const auto item = onexpu::item();
          const size_t lane = item.get_local_id(0), place = item.get_global_id(0);
          const T v = x[place];
          {values}
          tile[lane] = v;
          sycl::group_barrier(item.get_group());
          y[place] = kept + tile[(lane + 1) % block];
        }}""",
        inputs=["x"], outputs={"y": onexpu.like("x")}, constants={"block": _BLOCK},
        range=lambda x: x.size, local_size=_BLOCK,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    "values,expected",
    [
        ("const T kept = -v;", lambda v: -v),
        ("const T kept = sycl::exp(-v);", lambda v: np.exp(-v)),
        ("const T kept = sycl::sqrt(-v + T(2));", lambda v: np.sqrt(2 - v)),
        (
            "const sycl::vec<T, 2> w = -sycl::vec<T, 2>(v, v + T(1)); const T kept = w[1];",
            lambda v: -v - 1,
        ),
    ],
)
def test_negated_values_after_a_barrier(dtype, values, expected) -> None:
    """The CPU driver takes them for the same in all work-items, unless they are hidden from it."""
    x = np.linspace(0, 1, 2 * _BLOCK).astype(dtype)
    wide = x.astype(np.float64).reshape(2, _BLOCK)
    result = np.asarray(_kernel(values)(jnp.asarray(x)))
    np.testing.assert_allclose(
        result, (expected(wide) + np.roll(wide, -1, 1)).ravel(), 4 * np.finfo(dtype).eps,
        4 * np.finfo(dtype).eps,
    )  # fmt: skip
