"""A new user's path: from the README's section on kernels to one's own, with only what the page
says.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^## A kernel of your own\n(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

# What the user changes on the page: another computation with another attribute, name and gradient.
# Nothing else.
OWN = [
    ("y[i] = T(a * x[i])", "y[i] = T(a * x[i] * x[i])"),
    ("[scale(cotangents[0], a=a)]", "[2 * a * inputs[0] * cotangents[0]]"),
    ("scale", "square"),
]
CHECK = """
import numpy as np
from ml_dtypes import bfloat16
expected = np.arange(4.0) ** 2 * 3
for dtype in ("float32", "bfloat16"):
    found = square(jnp.arange(4, dtype=dtype), a=3.0)
    assert found.dtype == dtype and found.devices() == {jax.devices("xpu")[0]}
    np.testing.assert_array_equal(np.asarray(found, np.float32), expected)
    with tf.device("/XPU:0"):
        tensor = tf.cast(tf.range(4.0), dtype)
        for function in (square, tf.function(square), tf.function(square, jit_compile=True)):
            found = function(tensor, a=3.0)
            assert "XPU" in found.device
            np.testing.assert_array_equal(tf.cast(found, tf.float32), expected)
slope = jax.grad(lambda x: square(x, a=3.0).sum())(jnp.arange(4.0))
np.testing.assert_array_equal(slope, 6 * np.arange(4.0))
with tf.device("/XPU:0"):
    x = tf.Variable([0.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        y = square(x, a=3.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [0, 6, 12])
try:
    square(jnp.arange(4), a=3.0)
except TypeError as error:
    assert "T is one of float32, bfloat16" in str(error)
print("own kernel: the same in both frameworks")
"""


def run(source: str) -> tuple[str, float]:
    begin = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=600, check=False
    )
    assert process.returncode == 0, process.stderr[-4000:]
    return process.stdout, time.perf_counter() - begin


def test_from_the_page_to_ones_own_kernel(record_property) -> None:
    section = SECTION.search((ROOT / "README.md").read_text())[1]
    (page,) = BLOCK.findall(section)
    output, seconds = run(page)
    assert "[0. 2. 4. 6.] [2. 2. 2. 2.]" in output
    record_property("seconds of the page", round(seconds, 1))

    own = page
    for text, replacement in OWN:
        assert text in own, text
        own = own.replace(text, replacement)
    output, seconds = run(own + CHECK)
    assert "own kernel: the same in both frameworks" in output
    record_property("seconds of one's own kernel", round(seconds, 1))
    print(f"one's own kernel, imports and compilation included: {seconds:.1f} s")
    # Ten minutes are for a person; the machine's part, with a cold cache, must not be felt.
    assert seconds < 120
