"""Runs random programs with JAX, on platform `xpu` and on JAX's CPU back end in one process."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from tests.fuzz.values import compare
from tests.fuzz.values.framework import Runner, Unsupported
from tests.fuzz.values.inputs import COMPLEX, DTYPES, FLOATS, short_name, values_of
from tests.fuzz.values.program import Program, render

# Which platform is tested; "cpu" compares the reference with itself, where there is no product.
DEVICE = os.environ.get("VALUE_FUZZER_DEVICE", "xpu")
# How a program is compiled and run on the device under test.
MODES = ("jit", "aot", "export", "donate")
# The reference is compiled once and runs once, so optimising it costs more than it saves: without
# the first two its compile takes three times as long. The last one switches off YNNPACK, whose
# maxima and minima lose NaN (`ynnpack-nan` in docs/conformance.md).
_REFERENCE_OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_experimental_ynn_fusion_type": "",
}


def namespace(*, wide: bool = False) -> dict[str, Any]:
    """Returns the names that programs use: modules, and a dtype for each short name.

    Parameters
    ----------
    wide : bool
        All floats are float64, and all complex dtypes complex128.
    """
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "np": np}
    for name, dtype in DTYPES.items():
        if wide and name in FLOATS:
            dtype = DTYPES["f64"]
        if wide and name in COMPLEX:
            dtype = DTYPES["c128"]
        names[name] = dtype
    return names


def define(program: Program, *, noise: bool = False, wide: bool = False) -> Callable[..., Any]:
    """Returns the program as a function of its inputs; with noise, of a key and its inputs."""
    names = namespace(wide=wide)
    if not noise:
        exec(render(program), names)
        return names["program"]
    noise_of = _Noise()
    names["perturb"] = noise_of
    exec(render(program, noise=True), names)

    def noisy(key: jax.Array, *inputs: jax.Array) -> Any:
        noise_of.key = key
        return names["program"](*inputs)

    return noisy


class _Noise:
    """Multiplies what may be rounded differently by 1 + e, |e| being some ulps.

    The key holds a seed, the amplitude for f32 and f64, and that for narrower types.
    """

    key: jax.Array

    def __call__(
        self, value: jax.Array, site: int, always: bool, terms: float | str = 0.0
    ) -> jax.Array:
        value = jnp.asarray(value)
        name = short_name(value.dtype)
        if name not in FLOATS + COMPLEX or not value.size or name.startswith("f8"):
            return value
        real = {"c64": "f32", "c128": "f64"}.get(name, name)
        bits = compare.SIGNIFICANT_BITS[real]
        amplitude = self.key[1 if bits >= 24 else 2] * 2.0 ** (1 - bits)
        position = lax.iota(np.float32, value.size).reshape(value.shape)
        unit = jnp.sin(position * (1.37 + 0.61 * (site % 13)) + self.key[0] * (site + 1.0))
        # Zero where it is exact: a factor of exactly one keeps gradients and integers.
        noise = (amplitude * unit).astype(DTYPES[real])
        if not always:
            # A value with few significant bits is exact, as results on small integers are.
            parts = (value.real, value.imag) if name in COMPLEX else (value,)
            kept = {"f16": 6, "bf16": 4, "f32": 12, "f64": 26}[real] - 1
            exact = functools.reduce(
                jnp.logical_and,
                [
                    part == lax.reduce_precision(part, jnp.finfo(part.dtype).nexp, kept)
                    for part in map(lax.stop_gradient, parts)
                ],
            )
            noise = jnp.where(exact, jnp.zeros_like(noise), noise)
        # In narrow types 1 + noise would round back to one or to an ulp; so the product is wider.
        wide = value
        if bits < 24:
            wide, noise = value.astype(np.float32), noise.astype(np.float32)
        noisy = wide * (1 + noise).astype(wide.dtype)
        if terms:
            if terms == "largest":
                size = jnp.abs(lax.stop_gradient(value))
                terms = compare.LARGEST * jnp.max(jnp.where(jnp.isfinite(size), size, 0))
            noisy += (noise * terms * (1 + 1j if name in COMPLEX else 1)).astype(wide.dtype)
        return noisy.astype(value.dtype)


class JaxFramework:
    """See `framework.Framework`."""

    name = "jax"
    careful = False

    def generate(self, seed: int) -> Program:
        from tests.fuzz.values.jax_programs.generate import generate

        return generate(seed)

    def device(self, program: Program) -> Runner:
        """Compiles for the device under test. Raises Unsupported."""
        device = jax.devices(DEVICE)[0]
        function = _jit(program)
        arguments = _arguments(program, device)
        with _unsupported():
            if program.mode == "export":
                exported = export.export(function, platforms=[DEVICE])(*arguments)
                function = jax.jit(export.deserialize(exported.serialize()).call)
            if program.mode == "aot":
                function = function.lower(*arguments).compile()

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            with _unsupported():
                return _run(function, device, inputs)

        return run

    def ways(self, program: Program) -> list[tuple[str, Runner]]:
        compiled = functools.cache(functools.partial(self.device, program))

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            return compiled()(inputs)

        return [(program.mode, run), (f"{program.mode}, second run", run)]

    def reference(self, program: Program) -> Runner:
        return self._compile(program, define(program), _structs(program))

    def wide(self, program: Program) -> Runner:
        function = define(program, wide=True)

        def widened(*inputs: jax.Array) -> Any:
            return function(*(_widen(one) for one in inputs))

        return self._compile(program, widened, _structs(program))

    def noisy(self, program: Program) -> Callable[[list[np.ndarray], int], list[np.ndarray]]:
        key = jax.ShapeDtypeStruct((3,), np.float32)
        run = self._compile(program, define(program, noise=True), [key, *_structs(program)])

        def sample(inputs: list[np.ndarray], i: int) -> list[np.ndarray]:
            wide = compare.AMPLITUDES["wide"][i % compare.SAMPLES]
            narrow = compare.AMPLITUDES["narrow"][i % compare.SAMPLES]
            return run([np.array([12.9898 + 3.7 * i, wide, narrow], np.float32), *inputs])

        return sample

    def forget(self) -> None:
        jax.clear_caches()

    def plain_modes(self, program: Program) -> tuple[str, ...]:
        return ("jit",)

    def zeros(self, dtype: str, shape: tuple[int, ...]) -> str:
        return f"jnp.zeros({shape}, {dtype})"

    def script(self, program: Program) -> tuple[str, str]:
        names = ", ".join(
            f"{name}=np.dtype(ml_dtypes.{dtype.name})"
            if hasattr(__import__("ml_dtypes"), dtype.name)
            else f"{name}=np.dtype(np.{dtype.name})"
            for name, dtype in DTYPES.items()
        )
        header = (
            "import jax\nimport jax.numpy as jnp\nimport ml_dtypes\nimport numpy as np\n"
            "from jax import export, lax\n\n"
            'jax.config.update("jax_platforms", "xpu,cpu")\n'
            'jax.config.update("jax_enable_x64", True)\n'
            f"globals().update(dict({names}))\n"
        )
        run = "jax.jit(program)"
        if program.mode == "donate":
            donated = [i for i, one in enumerate(program.inputs) if one.donated]
            run = f"jax.jit(program, donate_argnums={donated})"
        lines = [
            "def run(platform, function):",
            "    device = jax.devices(platform)[0]",
            "    return [np.asarray(y) for y in function(*jax.device_put(inputs, device))]",
            "",
            "",
        ]
        if program.mode == "export":
            lines += [
                "arguments = jax.device_put(inputs, jax.devices('xpu')[0])",
                "exported = export.export(jax.jit(program), platforms=['xpu'])(*arguments)",
                "function = jax.jit(export.deserialize(exported.serialize()).call)",
                "got = run('xpu', function)",
            ]
        elif program.mode == "aot":
            lines += [
                "arguments = jax.device_put(inputs, jax.devices('xpu')[0])",
                "got = run('xpu', jax.jit(program).lower(*arguments).compile())",
            ]
        else:
            lines.append(f"got = run('xpu', {run})")
        lines.append("want = run('cpu', jax.jit(program))")
        return header, "\n".join(lines) + "\n"

    def _compile(
        self, program: Program, function: Callable[..., Any], structs: list[Any]
    ) -> Runner:
        device = jax.devices("cpu")[0]
        sharding = jax.sharding.SingleDeviceSharding(device)
        arguments = [
            jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding) for one in structs
        ]
        lowered = jax.jit(function, keep_unused=True).lower(*arguments)
        compiled = lowered.compile(compiler_options=None if self.careful else _REFERENCE_OPTIONS)
        return functools.partial(_run, compiled, device)


@contextlib.contextmanager
def _unsupported() -> Iterator[None]:
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "UNIMPLEMENTED" in str(error):
            raise Unsupported(str(error)) from error
        raise


def _jit(program: Program) -> Any:
    donated = [i for i, one in enumerate(program.inputs) if one.donated]
    return jax.jit(define(program), donate_argnums=donated if program.mode == "donate" else ())


def _structs(program: Program) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(one.shape, DTYPES[one.dtype]) for one in program.inputs]


def _arguments(program: Program, device: jax.Device) -> list[jax.ShapeDtypeStruct]:
    sharding = jax.sharding.SingleDeviceSharding(device)
    return [
        jax.ShapeDtypeStruct(one.shape, DTYPES[one.dtype], sharding=sharding)
        for one in program.inputs
    ]


def _widen(value: jax.Array) -> jax.Array:
    name = short_name(value.dtype)
    if name in COMPLEX:
        return value.astype(np.complex128)
    return value.astype(np.float64) if name in FLOATS else value


def _run(function: Callable[..., Any], device: jax.Device, inputs: list[np.ndarray]) -> list[Any]:
    outputs = function(*(jax.device_put(one, device) for one in inputs))
    return [np.asarray(one) for one in outputs]


def inputs_of(program: Program) -> list[np.ndarray]:
    """Returns the values of a program's inputs."""
    return [values_of(one) for one in program.inputs]


FRAMEWORK = JaxFramework()
