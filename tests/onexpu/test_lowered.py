"""What a call would launch, from shapes alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu


def blur() -> onexpu.SyclKernel:
    return onexpu.sycl_kernel(
        """template <typename T>
        ONEXPU_KERNEL_ND(2) void blur(T* image, double* sum, T* room, float radius, int rows) {}""",
        inputs=["image"],
        outputs={"image": onexpu.like("image"), "sum": onexpu.array((2, 3), "float64")},
        scratch={"room": onexpu.like("image", shape=lambda image: (image.size, 2))},
        attributes={"radius": float, "rows": lambda image: image.shape[0]},
        range=lambda image: image.shape,
        local_size=(1, 4),
    )


@pytest.mark.parametrize(
    "image",
    [
        jax.ShapeDtypeStruct((6, 8), jnp.bfloat16),
        tf.TensorSpec([6, 8], tf.bfloat16),
        np.zeros((6, 8), jnp.bfloat16),
    ],
    ids=["jax", "tensorflow", "numpy"],
)
def test_shows_the_launch(image) -> None:
    kernel = blur()
    found = onexpu.lowered(kernel, image, radius=1.5)
    assert found.name == "blur" and found.target == "onexpu.kernel"
    assert found.inputs == {"image": ((6, 8), "bfloat16")}
    assert found.outputs == {"image": ((6, 8), "bfloat16"), "sum": ((2, 3), "float64")}
    assert found.in_place == ("image",)
    assert found.scratch == {"room": ((48, 2), "bfloat16")} and found.scratch_bytes == 192
    assert (found.global_size, found.local_size) == ((6, 8), (1, 4))
    assert found.scalars == np.float32(1.5).tobytes() + np.int32(6).tobytes()
    assert found.spirv == kernel.spirv("bfloat16") and found.entry_point.encode() in found.spirv
    assert found.key.startswith("blur<bfloat16>-")
    text = str(found)
    for line in (
        "kernel        blur",
        "inputs        image: bfloat16[6, 8]",
        "outputs       image: bfloat16[6, 8], sum: float64[2, 3]",
        "in place      image",
        "attributes    radius=1.5",
        "scratch bytes 192",
        "global size   6 x 8",
        "local size    1 x 4",
        f"SPIR-V        {len(found.spirv)} bytes",
    ):
        assert line in text.splitlines()


def test_launches_nothing(swish) -> None:
    onexpu.lowered(swish, np.ones(3, np.float32), beta=1.0)
    before = onexpu.transfer_statistics()
    onexpu.lowered(swish, np.ones(3, np.float32), beta=1.0)
    used = onexpu.transfer_statistics() - before
    assert (used.kernels_launched, used.programs_executed, used.total_bytes) == (0, 0, 0)


def test_the_errors_of_a_call(swish) -> None:
    with pytest.raises(TypeError, match="lowered accepts kernels of sycl_kernel"):
        onexpu.lowered(onexpu.kernels.swiglu, np.ones(3))
    with pytest.raises(TypeError, match="expected 'x' to be an array or its description"):
        onexpu.lowered(swish, [1.0], beta=1.0)
    with pytest.raises(ValueError, match="lowered needs the sizes of 'x'"):
        onexpu.lowered(swish, tf.TensorSpec([None, 3]), beta=1.0)
    with pytest.raises(TypeError, match="lacks beta"):
        onexpu.lowered(swish, np.ones(3, np.float32))
    with pytest.raises(TypeError, match="'x' of kernel 'swish' has the type int32"):
        onexpu.lowered(swish, np.ones(3, np.int32), beta=1.0)
    with pytest.raises(ValueError, match="a range of zero"):
        onexpu.lowered(
            onexpu.sycl_kernel(
                "ONEXPU_KERNEL void f(const float* x, float* y) {}",
                inputs=["x"],
                outputs={"y": onexpu.like("x")},
                range=0,
            ),
            np.ones(3, np.float32),
        )


def test_without_a_device(swish, tmp_path) -> None:
    """A kernel from SPIR-V is worked out where there is nothing to run it."""
    path = tmp_path / "swish.spv"
    path.write_bytes(swish.spirv("float32"))
    script = f"""
import jax, onexpu
swish = onexpu.spirv_kernel({str(path)!r}, inputs={{"x": "float32"}},
                            outputs={{"y": onexpu.like("x")}},
                            attributes={{"beta": float}}, name="swish")
x = jax.ShapeDtypeStruct((4, 8), "float32")
print(onexpu.lowered(swish, x, beta=1.0))
print(jax.eval_shape(lambda x: swish(x, beta=1.0), x))
"""
    environment = {**os.environ, "ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "global size   32" in done.stdout and "shape=(4, 8)" in done.stdout


def test_zeros_and_counted_rows() -> None:
    kernel = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void count(const float* x, float* y, int32_t* all, uint32_t* rows) {}",
        inputs=["x"],
        outputs={"y": onexpu.like("x", rows="rows"), "all": onexpu.array((), "int32", zeroed=True)},
        scratch={"rows": onexpu.array((1,), "uint32")},
    )
    lowered = onexpu.lowered(kernel, jax.ShapeDtypeStruct((8,), "float32"))
    assert lowered.zeroed == ("all", "rows") and lowered.counted == {"y": "rows"}
    assert re.search(r"^zeroed +all, rows$", str(lowered), re.MULTILINE)
    assert re.search(r"^rows +y: rows$", str(lowered), re.MULTILINE)
