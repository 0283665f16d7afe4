"""More types and sizes in JAX (``--report --full``)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onexpu._report import host
from onexpu._report.checks import Check, Skip, Value
from onexpu._report.host import EPS
from onexpu._report.jax_checks import on_device, prepare

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CHECKS", "prepare"]

_SIZES = (1, 7, 63, 64, 65, 1000, 4097, 1_000_003)
_SHAPES = ((1, 1), (3, 1025), (1025, 3), (33, 65), (512, 512))


def _float_type(name: str) -> Iterator[Value]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    with jax.enable_x64(name == "float64"):
        dtype = jnp.dtype(name)
        eps = float(jnp.finfo(dtype).eps)
        # Sums are computed in f32 at least, then rounded.
        sum_eps = 32 * min(eps, EPS)
        reason = f"{name}: sums in f32 or wider, 32 eps of that, then one rounding"
        x, y = (host.random(129, 130, seed=seed).astype(dtype) for seed in (0, 1))
        wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
        size = np.abs(wide_x * wide_y) + np.abs(wide_x)
        try:
            product = on_device(lambda x, y: x * y + x, x, y)
        except Exception as error:
            if "is not supported by" in str(error):
                raise Skip(f"the device has no {name}") from error
            raise
        yield Value(
            "x * y + x", product, wide_x * wide_y + wide_x, 4 * eps * size, f"{name}: two roundings"
        )
        want = wide_x.sum(1)
        yield Value(
            "row sums",
            on_device(lambda x: x.sum(1), x),
            want,
            sum_eps * np.abs(wide_x).sum(1) + eps * np.abs(want),
            reason,
        )
        want = wide_x @ wide_y.T
        yield Value(
            "x @ y.T",
            on_device(lambda x, y: x @ y.T, x, y),
            want,
            sum_eps * (np.abs(wide_x) @ np.abs(wide_y).T) + eps * np.abs(want),
            reason,
        )
        order = np.sort(wide_x, 1)
        yield Value("sort", on_device(lambda x: jnp.sort(x, 1), x), order)
        exact = jax.jit(lambda x: x.astype(jnp.float32))
        yield Value("conversion to f32", exact(jax.device_put(x)), wide_x.astype(np.float32))
        yield Value(
            "conversion from f32",
            on_device(lambda x: x.astype(dtype), host.random(1000)),
            host.random(1000).astype(dtype),
        )


def _integer_type(name: str) -> Iterator[Value]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    with jax.enable_x64("64" in name):
        limits = np.iinfo(name)
        rng = np.random.default_rng(0)
        x, y = (rng.integers(limits.min, limits.max, (65, 66), name, endpoint=True) for _ in "xy")
        with np.errstate(over="ignore"):
            yield Value("x * y + x", on_device(lambda x, y: x * y + x, x, y), x * y + x)
            yield Value(
                "(x & y) ^ (x >> 3)",
                on_device(lambda x, y: (x & y) ^ (x >> 3), x, y),
                (x & y) ^ (x >> 3),
            )
            yield Value(
                "cumulative sums",
                on_device(lambda x: jnp.cumsum(x, 1, dtype=name), x),
                np.cumsum(x, 1, dtype=name),
            )
        divisor = np.where(y == 0, 1, y).astype(name)
        divisor[divisor == np.array(-1).astype(name)] = 1
        yield Value("x // y", on_device(lambda x, y: x // y, x, divisor), x // divisor)
        yield Value("maxima", on_device(lambda x: x.max(0), x), x.max(0))
        yield Value("sort", on_device(lambda x: jnp.sort(x, 1), x), np.sort(x, 1))
        if limits.bits == 8:
            wide = x.astype(np.int32) @ y.astype(np.int32).T
            got = on_device(lambda x, y: jnp.matmul(x, y.T, preferred_element_type=jnp.int32), x, y)
            yield Value("x @ y.T in int32", got, wide)


def _complex() -> Iterator[Value]:
    import numpy as np

    x = (host.random(65, 66) + 1j * host.random(65, 66, seed=1)).astype(np.complex64)
    wide = x.astype(np.complex128)
    yield Value(
        "x * conj(x) + x",
        on_device(lambda x: x * x.conj() + x, x),
        wide * wide.conj() + wide,
        8 * EPS * (np.abs(wide) ** 2 + np.abs(wide)),
        "c64: a few f32 roundings",
    )
    yield Value(
        "x @ x.T",
        on_device(lambda x: x @ x.T, x),
        wide @ wide.T,
        64 * EPS * (np.abs(wide) @ np.abs(wide).T),
        "c64: 64 eps of the sum of magnitudes",
    )


def _sizes() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    for n in _SIZES:
        x = np.random.default_rng(n).integers(-8, 8, n).astype(np.float32)
        yield Value(f"x * x + 1, {n}", on_device(lambda x: x * x + 1, x), x * x + 1)
        yield Value(f"sum, {n}", on_device(jnp.sum, x), x.sum(dtype=np.float64))
        yield Value(f"cumsum, {n}", on_device(jnp.cumsum, x), np.cumsum(x, dtype=np.float64))
        yield Value(f"sort, {n}", on_device(jnp.sort, x), np.sort(x))


def _shapes() -> Iterator[Value]:
    import numpy as np

    def integers(*shape: int) -> np.ndarray:
        return np.random.default_rng(sum(shape)).integers(-8, 8, shape).astype(np.float32)

    for shape in _SHAPES:
        x = integers(*shape)
        yield Value(f"x.T + 1, {shape}", on_device(lambda x: x.T + 1, x), x.T + 1)
        for axis in (0, 1):
            yield Value(
                f"sums along {axis}, {shape}", on_device(lambda x, a=axis: x.sum(a), x), x.sum(axis)
            )
        yield Value(f"x @ x.T, {shape}", on_device(lambda x: x @ x.T, x), x @ x.T)


def _batched(name: str) -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    n = 33
    x = host.random(8, n, n)
    a = x @ x.transpose(0, 2, 1) / n + np.eye(n, dtype=np.float32)
    tolerance = n * EPS * np.linalg.norm(a.astype(np.float64), axis=(1, 2), keepdims=True) * 4
    reason = f"backward stable in f32: {4 * n} eps times the norm of each matrix"

    def wide(results: tuple[object, ...]) -> list[np.ndarray]:
        return [np.asarray(result, np.float64) for result in results]

    if name == "Cholesky":
        (factor,) = wide((on_device(jnp.linalg.cholesky, a),))
        yield Value("L @ L.T", factor @ factor.transpose(0, 2, 1), a, tolerance, reason)
    elif name == "LU":
        (inverse,) = wide((on_device(jnp.linalg.inv, a),))
        yield Value(
            "A @ inv(A)",
            a @ inverse,
            np.broadcast_to(np.eye(n), a.shape),
            tolerance * np.linalg.norm(inverse, axis=(1, 2), keepdims=True),
            reason,
        )
    elif name == "QR":
        q, r = wide(on_device(jnp.linalg.qr, a))
        yield Value("Q @ R", q @ r, a, tolerance, reason)
    elif name == "SVD":
        u, s, v = wide(on_device(jnp.linalg.svd, a))
        yield Value("U @ S @ V", (u * s[:, None, :]) @ v, a, tolerance, reason)
    else:
        w, v = wide(on_device(jnp.linalg.eigh, a))
        yield Value("A @ V - V * w", a @ v, v * w[:, None, :], tolerance, reason)


CHECKS = (
    *(
        Check(f"type {name}", functools.partial(_float_type, name))
        for name in ("float16", "bfloat16", "float32", "float64")
    ),
    *(
        Check(f"type {name}", functools.partial(_integer_type, name))
        for name in ("int8", "uint8", "int16", "int32", "uint32", "int64")
    ),
    Check("type complex64", _complex),
    Check("sizes of vectors", _sizes, 300),
    Check("shapes of matrices", _shapes, 300),
    *(
        Check(f"batched {name} (oneMKL)", functools.partial(_batched, name))
        for name in ("Cholesky", "LU", "QR", "SVD", "eigh")
    ),
)
