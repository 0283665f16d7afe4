"""Every route that JAX takes, compared with numpy on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from onexpu._report import host
from onexpu._report.checks import Check, Note, Skip, Value
from onexpu._report.host import CONVOLUTION, EPS, GRADIENT, SUM

if TYPE_CHECKING:
    import jax


def device(index: int = 0) -> jax.Device:
    """Returns a device under test."""
    import jax

    return jax.devices("xpu")[index]


def on_device(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the jitted function's results for arguments that are put on the first device."""
    import jax

    return jax.jit(function)(*jax.device_put(arguments, device()))


def prepare() -> Iterator[Note]:
    """Imports JAX and starts the devices."""
    import jax

    # Operands of several checks are on different devices: nothing runs elsewhere unseen.
    jax.config.update("jax_default_device", device())
    yield Note(f"devices: {', '.join(f'{one} {one.device_kind}' for one in jax.devices('xpu'))}")


def _elementwise() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    x, y = host.random(317, 211), host.random(317, 211, seed=1)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    want = np.exp(wide_x) * wide_y + np.tanh(wide_x)
    size = np.abs(np.exp(wide_x) * wide_y) + np.abs(np.tanh(wide_x))
    yield Value(
        "exp(x) * y + tanh(x)",
        on_device(lambda x, y: jnp.exp(x) * y + jnp.tanh(x), x, y),
        want,
        16 * EPS * size,
        "f32, 8 ulp each for exp and tanh",
    )
    want = wide_x / wide_y + np.sqrt(np.abs(wide_x))
    yield Value(
        "x / y + sqrt(abs(x))",
        on_device(lambda x, y: x / y + jnp.sqrt(jnp.abs(x)), x, y),
        want,
        8 * EPS * (np.abs(wide_x / wide_y) + np.abs(want)),
        "f32, 2.5 ulp for division and 3 ulp for the square root (OpenCL)",
    )


def _reductions() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    x = host.random(517, 1031)
    reason = "f32 sums in any order: 32 eps times the sum of magnitudes"
    for name, axis in (("row sums", 1), ("column sums", 0), ("sum", None)):
        yield Value(
            name,
            on_device(lambda x, axis=axis: x.sum(axis), x),
            x.astype(np.float64).sum(axis),
            32 * EPS * np.abs(x).astype(np.float64).sum(axis),
            reason,
        )
    yield Value("maxima", on_device(lambda x: x.max(0), x), x.max(0))
    yield Value("argmax", on_device(lambda x: jnp.argmax(x, 1), x), x.argmax(1))


def _dot() -> Iterator[Value]:
    import numpy as np

    a, b = host.random(257, 192), host.random(192, 131, seed=1)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    tolerance = 32 * EPS * (np.abs(wide_a) @ np.abs(wide_b))
    yield Value("a @ b", on_device(lambda a, b: a @ b, a, b), wide_a @ wide_b, tolerance, SUM)
    yield Value(
        "transposed operands",
        on_device(lambda a, b: b.T @ a.T, a, b),
        (wide_a @ wide_b).T,
        tolerance.T,
        SUM,
    )


def _convolution() -> Iterator[Value]:
    import jax
    import numpy as np

    x, kernel = host.random(2, 19, 23, 16), host.random(3, 3, 16, 24, seed=1)
    want = host.convolve(x.astype(np.float64), kernel.astype(np.float64))
    size = host.convolve(np.abs(x), np.abs(kernel))

    def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    # Winograd's algorithm, which libraries may choose, adds a few more roundings.
    yield Value(
        "3 x 3, 16 to 24 channels",
        on_device(convolve, x, kernel),
        want,
        64 * EPS * size,
        CONVOLUTION,
    )
    gradient = on_device(jax.grad(lambda k, x: convolve(x, k).sum()), kernel, x)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (17, 21), axis=(1, 2))
    sums = np.einsum("nijchw->ijc", windows)
    sizes = np.einsum("nijchw->ijc", np.abs(windows))
    yield Value(
        "gradient of the weights",
        gradient,
        np.broadcast_to(sums[..., None], kernel.shape),
        64 * EPS * np.broadcast_to(sizes[..., None], kernel.shape),
        GRADIENT,
    )


def _fft() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    reason = "f32 butterflies: 4 eps log2(n) times the norm of the input"
    for shape in ((5, 1000), (3, 1009), (64, 96)):
        x = (host.random(*shape) + 1j * host.random(*shape, seed=1)).astype(np.complex64)
        axes = (1,) if shape[0] < 64 else (0, 1)
        n = np.prod([shape[axis] for axis in axes])
        norm = np.sqrt((np.abs(x) ** 2).sum(axes, keepdims=True))
        yield Value(
            f"{len(axes)}-D, {list(shape)}",
            on_device(lambda x, a=axes: jnp.fft.fftn(x, axes=a), x),
            np.fft.fftn(x.astype(np.complex128), axes=axes),
            4 * EPS * np.log2(n) * norm,
            reason,
        )


def _linear_algebra(name: str) -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    n = 96
    root = host.random(n, n)
    a = (root @ root.T / n + np.eye(n, dtype=np.float32)).astype(np.float32)
    wide = a.astype(np.float64)
    norm = np.linalg.norm(wide, 2)
    reason = f"backward stable in f32: {n} eps times the matrix norm"
    if name == "Cholesky":
        factor = np.asarray(on_device(jnp.linalg.cholesky, a), np.float64)
        yield Value("L @ L.T", factor @ factor.T, wide, n * EPS * norm, reason)
        yield Value("above the diagonal", np.triu(factor, 1), np.zeros((n, n)))
    elif name == "LU":
        x = on_device(jnp.linalg.solve, root, a)
        residual = root.astype(np.float64) @ np.asarray(x, np.float64) - wide
        size = np.linalg.norm(root) * np.linalg.norm(np.asarray(x, np.float64))
        tolerance = n * EPS * (size + norm)
        yield Value("A @ solve(A, B) - B", residual, np.zeros((n, n)), tolerance, reason)
    elif name == "QR":
        q, r = (np.asarray(one, np.float64) for one in on_device(jnp.linalg.qr, root))
        yield Value("Q @ R", q @ r, root, n * EPS * np.linalg.norm(root, 2), reason)
        yield Value("Q.T @ Q", q.T @ q, np.eye(n), n * EPS, f"orthogonal: {n} eps")
    else:
        values, vectors = (np.asarray(one, np.float64) for one in on_device(jnp.linalg.eigh, a))
        yield Value("eigenvalues", values, np.linalg.eigvalsh(wide), n * EPS * norm, reason)
        yield Value("A @ V - V * w", wide @ vectors, vectors * values, n * EPS * norm, reason)


def _sort() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    for n in (1000, 70_001):
        x = host.random(n)
        yield Value(f"sort of {n:,}", on_device(jnp.sort, x), np.sort(x))
        yield Value(f"argsort of {n:,}", on_device(jnp.argsort, x), np.argsort(x, kind="stable"))


def _scatter_and_gather() -> Iterator[Value]:
    import numpy as np

    index = np.random.default_rng(0).integers(0, 500, 5000).astype(np.int32)
    updates = (index % 7 + 1).astype(np.float32)
    want = np.zeros(500, np.float32)
    np.add.at(want, index, updates)
    zeros = np.zeros(500, np.float32)
    yield Value(
        "f32 scatter-add of small integers",
        on_device(lambda z, i, u: z.at[i].add(u), zeros, index, updates),
        want,
    )
    order = np.random.default_rng(1).permutation(500).astype(np.int32)
    values = host.random(500)
    want = np.empty(500, np.float32)
    want[order] = values
    yield Value(
        "scatter to distinct indices",
        on_device(lambda z, i, u: z.at[i].set(u), zeros, order, values),
        want,
    )
    yield Value(
        "gather of rows",
        on_device(lambda x, i: x[i], values.reshape(50, 10), index % 50),
        values.reshape(50, 10)[index % 50],
    )


def _loops() -> Iterator[Value]:
    import jax
    import numpy as np

    count = on_device(
        lambda n: jax.lax.while_loop(
            lambda s: (s[0] != 1) & (s[1] < 1000),
            lambda s: (jax.numpy.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
            (n, 0),
        )[1],
        np.int32(27),
    )
    yield Value("steps of the Collatz sequence from 27", count, 111)
    a = np.linalg.qr(host.random(64, 64))[0]
    want = np.linalg.matrix_power(a.astype(np.float64), 8)
    got = on_device(lambda a: jax.lax.fori_loop(0, 7, lambda _, y: y @ a, a), a)
    yield Value(
        "seven products in a loop",
        got,
        want,
        7 * 32 * EPS,
        "orthogonal factors in f32: 32 eps for each product",
    )
    got = on_device(
        lambda p, x: jax.lax.cond(p, lambda x: x + 1, lambda x: x - 1, x),
        np.bool_(False),
        np.arange(100, dtype=np.int32),
    )
    yield Value("cond", got, np.arange(100) - 1)


def _random() -> Iterator[Value]:
    import jax

    try:
        cpu = jax.devices("cpu")[0]
    except RuntimeError as error:
        raise Skip("JAX's CPU backend is disabled (JAX_PLATFORMS)") from error
    key = jax.random.key_data(jax.random.key(7))

    def bits(key: jax.Array) -> jax.Array:
        return jax.random.bits(jax.random.wrap_key_data(key), (3, 1001))

    yield Value("Threefry bits", on_device(bits, key), jax.jit(bits)(jax.device_put(key, cpu)))


def _collectives() -> Iterator[Value]:
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    devices = jax.devices("xpu")
    if len(devices) == 1:
        raise Skip("one device")
    mesh = jax.sharding.Mesh(np.array(devices), ("d",))
    split = PartitionSpec("d")
    n = len(devices)
    x = np.arange(n * 1000, dtype=np.float32).reshape(n, 1000)
    sharded = jax.device_put(x, NamedSharding(mesh, split))

    def run(function: Callable[[jax.Array], jax.Array], out: PartitionSpec) -> jax.Array:
        mapped = jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=out, check_vma=False)
        result: jax.Array = jax.jit(mapped)(sharded)
        return result

    total = run(lambda x: jax.lax.psum(x, "d"), PartitionSpec())
    yield Value("psum", total, x.sum(0, keepdims=True))
    gathered = run(lambda x: jax.lax.all_gather(x, "d", tiled=True), PartitionSpec())
    yield Value("all_gather", gathered, x)
    ring = [(i, (i + 1) % n) for i in range(n)]
    yield Value("ppermute", run(lambda x: jax.lax.ppermute(x, "d", ring), split), np.roll(x, 1, 0))
    copied = jax.device_put(jax.device_put(x, devices[0]), devices[-1])
    yield Value("copy between devices", copied, x)


def _custom_kernel() -> Iterator[Value]:
    import jax
    import numpy as np

    import onexpu

    scale = onexpu.sycl_kernel(
        source=host.SCALE_SOURCE,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"a": float},
        dtypes={"T": ["float32"]},
        range=lambda x: x.size,
    )
    x = host.random(1003)
    yield Value("eager", scale(jax.device_put(x, device()), a=2.0), x * 2)
    yield Value("in jit", on_device(lambda x: scale(x + 1, a=0.5), x), (x + 1) * np.float32(0.5))


def _copies() -> Iterator[Value]:
    import jax
    import numpy as np

    x = host.random(257, 130)
    views = {
        "row-major": x,
        "transposed": x.T,
        "every other column": x[:, ::2],
        "reversed": x[::-1],
        "Fortran order": np.asfortranarray(x),
        "one element": x[:1, :1],
        "no elements": x[:0],
        "3 bytes": np.array([1, 2, 3], np.uint8),
        "booleans": x > 0,
        "scalar": np.float32(3),
        "64 MiB": np.arange(1 << 24, dtype=np.int32),
        "unaligned": x.ravel()[1:],
    }
    for name, view in views.items():
        yield Value(f"{name}, there and back", jax.device_put(view, device()), view)
    there = jax.device_put(x, device())
    yield Value("part of an array", there[3:200:3, 5:], x[3:200:3, 5:])
    yield Value("transposed on the device", there.T, x.T)


def _pinned_host() -> Iterator[Value]:
    import jax

    one = device()
    pinned = jax.sharding.SingleDeviceSharding(one, memory_kind="pinned_host")
    x = host.random(300, 40)
    there = jax.device_put(x, pinned)
    yield Value("upload", there, x)
    on_one = jax.sharding.SingleDeviceSharding(one, memory_kind="device")
    yield Value("to the device", jax.device_put(there, on_one), x)
    yield Value("result in pinned_host", jax.jit(lambda x: x + x, out_shardings=pinned)(x), x + x)


def _donation() -> Iterator[Value]:
    import jax

    x = host.random(4096)
    there = jax.device_put(x, device())
    got = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(there)
    yield Value("result", got, x * 2 + 1, 2 * EPS * (2 * abs(x) + 1), "f32, with or without fma")
    yield Value("the operand is deleted", there.is_deleted(), True)


def _dlpack() -> Iterator[Value]:
    import jax

    import onexpu

    values = host.random(64, 3)
    x = jax.device_put(values, device())
    back = onexpu.from_dlpack(onexpu.to_dlpack(x))
    yield Value("values", back + 0, values)
    yield Value("same memory", onexpu.buffer_address(back) == onexpu.buffer_address(x), True)


CHECKS = (
    Check("jit: elementwise", _elementwise),
    Check("jit: reductions", _reductions),
    Check("jit: dot (oneDNN)", _dot),
    Check("jit: convolution (oneDNN)", _convolution),
    Check("jit: FFT (oneMKL)", _fft),
    Check("jit: Cholesky (oneMKL)", lambda: _linear_algebra("Cholesky")),
    Check("jit: LU and solve (oneMKL)", lambda: _linear_algebra("LU")),
    Check("jit: QR (oneMKL)", lambda: _linear_algebra("QR")),
    Check("jit: eigh (oneMKL)", lambda: _linear_algebra("eigh")),
    Check("jit: sort", _sort),
    Check("jit: scatter and gather", _scatter_and_gather),
    Check("jit: loops and cond", _loops),
    Check("jit: random bits", _random),
    Check("collectives", _collectives),
    Check("custom SYCL kernel", _custom_kernel),
    Check("copies to and from the host", _copies),
    Check("pinned_host", _pinned_host),
    Check("donation", _donation),
    Check("DLPack", _dlpack),
)
