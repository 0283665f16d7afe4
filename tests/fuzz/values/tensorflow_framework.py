"""Runs random programs with TensorFlow, on `/XPU:0` and on `/CPU:0` in one process."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

# oneDNN's kernels give up NaN in places where Eigen's keep it; the tests compare with Eigen's.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf

from tests.fuzz.values import compare
from tests.fuzz.values.framework import Runner, Unsupported
from tests.fuzz.values.inputs import (
    COMPLEX,
    DTYPES,
    FLOATS,
    SIGNIFICANT_BITS,
    short_name,
    values_of,
)
from tests.fuzz.values.program import Program, render
from tests.fuzz.values.tensorflow_programs import helpers

# Which device is tested; "/CPU:0" compares the reference with its own compiler, where there is no
# product.
DEVICE = os.environ.get("VALUE_FUZZER_DEVICE", "/XPU:0")
_CPU = "/CPU:0"
# How a program runs on the device under test; "all" is each of them.
WAYS = ("eager", "function", "jit")
MODES = ("all", *WAYS)
# Sizes of these results depend on values. In a compiled program they become dimensions with a
# bound.
DYNAMIC_OPS = frozenset(
    {"where", "boolean_mask", "unique", "dynamic_partition", "ragged", "sparse"}
)
# What XLA has no translation for, in the words of TensorFlow's compiler bridge.
_UNTRANSLATED = "Detected unsupported operations"


def namespace(*, wide: bool = False) -> dict[str, Any]:
    """Returns the names that programs use: modules, helpers, and a dtype for each short name.

    Parameters
    ----------
    wide : bool
        All floats are float64, and all complex dtypes complex128.
    """
    names: dict[str, Any] = {"tf": tf, "np": np}
    names |= {name: getattr(helpers, name) for name in helpers.__all__}
    for name, dtype in DTYPES.items():
        if wide and name in FLOATS:
            dtype = DTYPES["f64"]
        if wide and name in COMPLEX:
            dtype = DTYPES["c128"]
        names[name] = dtype
    return names


def define(
    program: Program, *, wide: bool = False, noise: _Noise | None = None
) -> Callable[..., Any]:
    """Returns the program as a function of its inputs."""
    names = namespace(wide=wide)
    if noise is not None:
        names["perturb"] = noise
    exec(render(program, noise=noise is not None), names)
    return names["program"]


class _Noise:
    """Multiplies what may be rounded differently by 1 + e, |e| being some ulps.

    Parameters
    ----------
    sample : int
        The number of the sample.
    """

    def __init__(self, sample: int) -> None:
        self._phase = 12.9898 + 3.7 * sample
        self._wide = compare.AMPLITUDES["wide"][sample % compare.SAMPLES]
        self._narrow = compare.AMPLITUDES["narrow"][sample % compare.SAMPLES]

    def __call__(self, value: Any, site: int, always: bool, terms: float | str = 0.0) -> Any:
        if not isinstance(value, tf.Tensor):
            return value
        try:
            name = short_name(value.dtype.as_numpy_dtype)
        except (KeyError, TypeError):
            return value
        if name not in FLOATS + COMPLEX or name.startswith("f8"):
            return value
        real = {"c64": "f32", "c128": "f64"}.get(name, name)
        bits = SIGNIFICANT_BITS[real]
        amplitude = (self._wide if bits >= 24 else self._narrow) * 2.0 ** (1 - bits)
        position = tf.reshape(tf.cast(tf.range(tf.size(value)), tf.float64), tf.shape(value))
        unit = tf.sin(position * (1.37 + 0.61 * (site % 13)) + self._phase * (site + 1.0))
        noise = amplitude * unit
        if not always:
            parts = (tf.math.real(value), tf.math.imag(value)) if name in COMPLEX else (value,)
            exact = functools.reduce(tf.logical_and, [_is_short(part, real) for part in parts])
            noise = tf.where(exact, tf.zeros_like(noise), noise)
        # In narrow types 1 + noise would round back to one or to an ulp; so the product is wider.
        wide = tf.complex128 if name in COMPLEX else tf.float64
        noisy = tf.cast(value, wide) * tf.cast(1 + noise, wide)
        if terms:
            if terms == "largest":
                size = tf.cast(tf.abs(tf.stop_gradient(value)), tf.float64)
                size = tf.where(tf.math.is_finite(size), size, tf.zeros_like(size))
                terms = compare.LARGEST * tf.reduce_max(size)
            noisy += tf.cast(noise * terms, wide) * (1 + 1j if name in COMPLEX else 1)
        return tf.cast(noisy, value.dtype)


def _is_short(value: Any, name: str) -> Any:
    """Returns where a float has few significant bits, as exact results on small integers have."""
    unused, integer = {
        "f16": (5, tf.int16),
        "bf16": (4, tf.int16),
        "f32": (12, tf.int32),
        "f64": (27, tf.int64),
    }[name]
    low_bits = tf.constant((1 << unused) - 1, integer)
    pattern = tf.bitcast(tf.stop_gradient(value), integer)
    return tf.equal(tf.bitwise.bitwise_and(pattern, low_bits), tf.zeros([], integer))


class TensorflowFramework:
    """See `framework.Framework`."""

    name = "tensorflow"

    def generate(self, seed: int) -> Program:
        from tests.fuzz.values.tensorflow_programs.generate import generate

        return generate(seed)

    def ways(self, program: Program) -> list[tuple[str, Runner]]:
        names = WAYS if program.mode == "all" else (program.mode,)
        found = []
        for name in names:
            function = _as(name, helpers.started(define(program), DEVICE))
            # The second run goes through the memos of what the first one compiled.
            run = functools.partial(_run_on_device, function)
            if name == "jit" and DYNAMIC_OPS & set(program.ops()):
                run = functools.partial(_run_if_translatable, function, program)
            for way in (name, f"{name}, second run"):
                found.append((way, run))
        return found

    def reference(self, program: Program) -> Runner:
        return functools.partial(_run_on_cpu, define(program))

    def wide(self, program: Program) -> Runner:
        function = define(program, wide=True)

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            return _run_on_cpu(function, [_widen(one) for one in inputs])

        return run

    def noisy(self, program: Program) -> Callable[[list[np.ndarray], int], list[np.ndarray]]:
        def sample(inputs: list[np.ndarray], i: int) -> list[np.ndarray]:
            try:
                return _run_on_cpu(define(program, noise=_Noise(i)), inputs)
            except (tf.errors.InvalidArgumentError, ValueError):
                if not DYNAMIC_OPS & set(program.ops()):
                    raise
                # Noise may change how many elements a mask keeps, which then no longer fit others.
                return [np.empty(0, np.float32) for _ in program.outputs]

        return sample

    def forget(self) -> None:
        helpers.forget()

    def zeros(self, dtype: str, shape: tuple[int, ...]) -> str:
        return f"tf.zeros({list(shape)}, {dtype})"

    def plain_modes(self, program: Program) -> tuple[str, ...]:
        return WAYS

    def script(self, program: Program) -> tuple[str, str]:
        names = ", ".join(
            f"{name}=np.dtype(ml_dtypes.{dtype.name})"
            if hasattr(__import__("ml_dtypes"), dtype.name)
            else f"{name}=np.dtype(np.{dtype.name})"
            for name, dtype in DTYPES.items()
        )
        source = inspect.getsource(helpers)
        header = (
            'import os\n\nos.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"\n'
            'os.environ["ONEXPU_COMPILE_LOOPS"] = "0"\n'
            'os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")\n\n'
            "import ml_dtypes\nimport numpy as np\nimport tensorflow as tf\n\n"
            f"globals().update(dict({names}))\n\n\n"
            + source[source.index("# What programs on a device hold") :]
        )
        ways = [name for name, _ in self.ways(program) if "run" not in name]
        run = [
            "def run(device, function):",
            "    with tf.device(device):",
            "        return [y.numpy() for y in function(*[tf.identity(x) for x in inputs])]",
            "",
            "",
            "want = run('/CPU:0', started(program, '/CPU:0'))",
            "on_xpu = started(program, '/XPU:0')",
            "got = []",
        ]
        for way in ways:
            function = {
                "eager": "on_xpu",
                "function": "tf.function(on_xpu, autograph=False)",
                "jit": "tf.function(on_xpu, autograph=False, jit_compile=True)",
            }[way]
            run.append(f"got += run('/XPU:0', {function})")
        if len(ways) > 1:
            run.append(f"want *= {len(ways)}  # {', '.join(ways)}")
        return header, "\n".join(run) + "\n"


def _as(way: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if way == "eager":
        return function
    return tf.function(function, autograph=False, jit_compile=way == "jit" or None)


def _run_on_device(function: Callable[..., Any], inputs: list[np.ndarray]) -> list[np.ndarray]:
    with _unsupported():
        return _run(function, DEVICE, inputs)


def _run_if_translatable(
    function: Callable[..., Any], program: Program, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    """Raises Unsupported if the CPU's JIT raises as well.

    TensorFlow's translations take bounds for sizes here and there (a reshape, a variable's shape).
    """
    try:
        return _run_on_device(function, inputs)
    except tf.errors.InvalidArgumentError as error:
        try:
            _run(_as("jit", helpers.started(define(program), _CPU)), _CPU, inputs)
        except tf.errors.OpError:
            raise Unsupported(str(error).split("\n")[0]) from error
        raise


def _run_on_cpu(function: Callable[..., Any], inputs: list[np.ndarray]) -> list[np.ndarray]:
    # An op that the CPU has no kernel for would go to the device that is tested.
    tf.config.set_soft_device_placement(False)
    helpers.forget_device(_CPU)
    try:
        return _run(helpers.started(function, _CPU), _CPU, inputs)
    finally:
        tf.config.set_soft_device_placement(True)


def _run(function: Callable[..., Any], device: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with tf.device(device):
        arguments = [tf.identity(tf.constant(one)) for one in inputs]
        return [np.asarray(one.numpy()) for one in function(*arguments)]


@contextlib.contextmanager
def _unsupported() -> Iterator[None]:
    try:
        yield
    except tf.errors.UnimplementedError as error:
        raise Unsupported(str(error)) from error
    except tf.errors.InvalidArgumentError as error:
        if _UNTRANSLATED in str(error):
            # The names of functions differ from program to program.
            raise Unsupported(re.sub(r"graph \S+ on", "a graph on", str(error))) from error
        raise


def _widen(value: np.ndarray) -> np.ndarray:
    name = short_name(value.dtype)
    if name in COMPLEX:
        return value.astype(np.complex128)
    return value.astype(np.float64) if name in FLOATS else value


def inputs_of(program: Program) -> list[np.ndarray]:
    """Returns the values of a program's inputs."""
    return [values_of(one) for one in program.inputs]


FRAMEWORK = TensorflowFramework()
