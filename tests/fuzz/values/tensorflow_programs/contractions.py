"""Products of matrices, convolutions, pools, images, Fourier transforms and factorisations."""

from __future__ import annotations

from tests.fuzz.values.tensorflow_programs.builder import (
    REAL_FLOATS,
    Builder,
    Rejected,
    Value,
    product,
)

_SMALL_FLOATS = ("f32", "f32", "f64", "f16", "bf16")


def matmul(b: Builder) -> None:
    """A product of matrices, with batches that broadcast and operands that are transposed."""
    value = b.pick(
        REAL_FLOATS + ("s32", "s64", "c64"), where=lambda one: one.rank > 1 and one.size > 0
    )
    if value.special:
        raise Rejected
    other_axis = b.chance(0.4)
    inner = value.shape[-2] if other_axis else value.shape[-1]
    columns = b.size(64, minimum=1)
    transposed = b.chance(0.4)
    batch = value.shape[:-2] if b.chance(0.5) else value.shape[:-2][1:]
    shape = (*batch, *((columns, inner) if transposed else (inner, columns)))
    if product(shape) > b.max_elements:
        raise Rejected
    other = b.of(value.dtype, shape)
    if other.special:
        raise Rejected
    source = f"tf.matmul({{0}}, {{1}}, transpose_a={other_axis}, transpose_b={transposed})"
    b.emit(source, value, other, op="matmul", noise="operands")


def einsum(b: Builder) -> None:
    """A contraction with batch, contracted and free dimensions in any order."""
    value = b.pick(REAL_FLOATS + ("s32",), where=lambda one: 0 < one.rank < 5 and one.size > 0)
    if value.special:
        raise Rejected
    letters = "abcde"[: value.rank]
    roles = {letter: b.choice(("batch", "contract", "contract", "free")) for letter in letters}
    other = [letter for letter in letters if roles[letter] != "free"] + list(
        "xy"[: b.rng.randint(0, 2)]
    )
    b.rng.shuffle(other)
    sizes = dict(zip(letters, value.shape, strict=True)) | {"x": b.size(9, minimum=1), "y": 3}
    shape = tuple(sizes[letter] for letter in other)
    result = [letter for letter in letters if roles[letter] != "contract"]
    result += [letter for letter in "xy" if letter in other]
    b.rng.shuffle(result)
    if product(shape) > b.max_elements:
        raise Rejected
    operand = b.of(value.dtype, shape)
    if operand.special:
        raise Rejected
    equation = f"{letters},{''.join(other)}->{''.join(result)}"
    b.emit(f"tf.einsum('{equation}', {{0}}, {{1}})", value, operand, op="einsum", noise="operands")


def _image(b: Builder, dtypes: tuple[str, ...] = _SMALL_FLOATS) -> Value:
    fitting = [one for one in b.visible() if one.rank == 4 and one.dtype in dtypes and one.size > 0
               and not one.special and one.size < 6000]  # fmt: skip
    if fitting and b.chance(0.5):
        return b.choice(fitting)
    shape = (
        b.rng.randint(1, 3),
        b.size(17, minimum=1),
        b.size(17, minimum=1),
        b.size(9, minimum=1),
    )
    return b.of(b.choice(dtypes), shape, b.choice(("normal", "small")))


def convolution(b: Builder) -> None:
    """A convolution, a depthwise one, or the transpose of one."""
    value = _image(b)
    n, height, width, channels = value.shape
    kernel = (b.rng.randint(1, 4), b.rng.randint(1, 4))
    strides = b.choice(((1, 1), (1, 1), (2, 2), (3, 2)))
    dilation = b.choice((1, 1, 2)) if strides == (1, 1) else 1
    padding = b.choice(("'SAME'", "'VALID'", "[[0, 0], [1, 2], [2, 0], [0, 0]]"))
    if any((k - 1) * dilation >= size for k, size in zip(kernel, (height, width), strict=True)):
        padding = "'SAME'"  # of an empty result, the CPU's gradient divides by zero
    how = b.choice(("conv2d", "conv2d", "depthwise", "transpose", "grouped"))
    features = b.rng.randint(1, 6)
    if how == "depthwise":
        strides = (strides[0], strides[0])
        weights = b.of(value.dtype, (*kernel, channels, b.rng.randint(1, 3)), "small")
        source = (
            f"tf.nn.depthwise_conv2d({{0}}, {{1}}, [1, {strides[0]}, {strides[1]}, 1], {padding},"
            f" dilations=[{dilation}, {dilation}])"
        )
    elif how == "transpose":
        weights = b.of(value.dtype, (*kernel, features, channels), "small")
        sizes = [n, height * strides[0], width * strides[1], features]
        source = f"tf.nn.conv2d_transpose({{0}}, {{1}}, {sizes}, {list(strides)}, 'SAME')"
    else:
        groups = (
            b.choice([g for g in range(1, channels + 1) if channels % g == 0])
            if how == "grouped"
            else 1
        )
        weights = b.of(value.dtype, (*kernel, channels // groups, features * groups), "small")
        source = f"tf.nn.conv2d({{0}}, {{1}}, {list(strides)}, {padding}, dilations={dilation})"
    if weights.special:
        raise Rejected
    if b.chance(0.3):
        source = f"gradient(lambda a: tf.sin({source.replace('{0}', 'a')}), {{0}})"
    b.emit(source, value, weights, op=how, noise="operands")


def convolution_3d(b: Builder) -> None:
    """A convolution over one or three dimensions."""
    dtype = b.choice(("f32", "f64", "bf16", "f16"))
    spatial = b.choice((1, 3))
    sizes = tuple(b.size(9, minimum=1) for _ in range(spatial))
    channels, features = b.rng.randint(1, 4), b.rng.randint(1, 4)
    value = b.of(dtype, (b.rng.randint(1, 2), *sizes, channels), "normal")
    kernel = tuple(b.rng.randint(1, min(3, size)) for size in sizes)
    weights = b.of(dtype, (*kernel, channels, features), "small")
    stride = b.choice((1, 1, 2))
    strides = stride if spatial == 1 else [1, stride, stride, stride, 1]
    source = f"tf.nn.conv{spatial}d({{0}}, {{1}}, {strides}, '{b.choice(('SAME', 'VALID'))}')"
    b.emit(source, value, weights, op=f"conv{spatial}d", noise="operands")


def pool(b: Builder) -> None:
    """A pool of maxima or means over two dimensions, or its gradient."""
    value = _image(b)
    window, stride = b.rng.randint(1, min(3, *value.shape[1:3])), b.rng.randint(1, 3)
    padding = b.choice(("SAME", "VALID"))
    name = b.choice(("max_pool2d", "avg_pool2d"))
    source = f"tf.nn.{name}({{0}}, {window}, {stride}, '{padding}')"
    if b.chance(0.4):
        source = f"gradient(lambda a: tf.sin({source.replace('{0}', 'a')}), {{0}})"
    b.emit(
        source,
        value,
        op=name,
        noise="none" if name == "max_pool2d" and "grad" not in source else "operands",
    )


def image(b: Builder) -> None:
    """Resizes, crops, colours and patches of images."""
    value = _image(b, ("f32",))
    n, height, width, channels = value.shape
    size = [b.size(20, minimum=1), b.size(20, minimum=1)]
    options = [
        f"tf.image.resize({{0}}, {size}, '{b.choice(('bilinear', 'nearest'))}')",
        f"tf.raw_ops.ResizeBilinear(images={{0}}, size={size}, align_corners=True)",
        "tf.image.flip_left_right({0})",
        f"tf.image.rot90({{0}}, {b.rng.randint(1, 3)})",
        "tf.image.adjust_brightness({0}, 0.3)",
        "tf.image.adjust_contrast({0}, 1.5)",
        "tf.image.extract_patches({0}, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], 'SAME')",
        "tf.image.central_crop({0}, 0.6)",
        "tf.image.per_image_standardization({0})",
        f"tf.image.pad_to_bounding_box({{0}}, 1, 2, {height + 3}, {width + 2})",
        "tf.nn.local_response_normalization({0}, 2, 1.0, 0.2, 0.6)",
        f"tf.nn.dilation2d({{0}}, tf.zeros([2, 3, {channels}]), "
        "[1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1])",
        "tf.image.image_gradients({0})[0]",
    ]
    if channels == 3:
        options += ["tf.image.rgb_to_grayscale({0})", "tf.image.rgb_to_hsv(tf.sigmoid({0}))",
                    "tf.image.adjust_saturation(tf.sigmoid({0}), 0.7)"]  # fmt: skip
    source = b.choice(options).replace("{0}", "a").replace("{{0}}", "a")
    b.emit(f"narrow(lambda a: {source}, {{0}})", value, op="image", noise="operands")


def batch_normalization(b: Builder) -> None:
    """A normalisation of batches in training, and its result's moments."""
    value = _image(b, ("f32", "f32", "f16", "bf16"))
    channels = value.shape[-1]
    if product(value.shape[:-1]) < 2:
        raise Rejected
    scale, offset = b.of("f32", (channels,), "positive"), b.of("f32", (channels,), "normal")
    if scale.special or offset.special:
        raise Rejected
    part = b.choice((0, 0, 1, 2))
    b.emit("narrow(lambda a, s, t: tf.raw_ops.FusedBatchNormV3(x=a, scale=s, offset=t, mean=[],"
           f" variance=[], epsilon=0.01)[{part}], {{0}}, {{1}}, {{2}})", value, scale, offset,
           op="batch_norm", noise="operands")  # fmt: skip


def fourier(b: Builder) -> None:
    """A Fourier transform."""
    value = b.pick(("f32", "f64", "c64", "c128"), where=lambda one: one.rank > 0 and one.size > 0)
    if value.special:
        raise Rejected
    names = ["fft", "ifft"] if value.is_complex else ["rfft"]
    if value.rank > 1:
        names += ["fft2d", "ifft2d"] if value.is_complex else ["rfft2d"]
    b.emit(f"tf.signal.{b.choice(names)}({{0}})", value, op="fourier", noise="largest")


def linear_algebra(b: Builder) -> None:
    """A factorisation or a solution, of well-conditioned matrices."""
    size = b.choice((1, 2, 3, 4, 5, 7, 8, 13))
    batch = b.choice(((), (), (2,), (3,), (2, 3)))
    value = b.of(
        b.choice(("f32", "f32", "f64")), (*batch, size, size), b.choice(("normal", "small"))
    )
    if value.special:
        raise Rejected
    other = b.of(value.dtype, (*batch, size, b.choice((1, 2, 3, 5))), "normal")
    unit = f"tf.eye({size}, dtype={value.dtype})"
    positive = f"(tf.matmul({{0}}, {{0}}, transpose_b=True) * {1 / size!r} + 2 * {unit})"
    dominant = f"(tf.clip_by_value({{0}}, -3, 3) + {2 * size + 4} * {unit})"
    name, source = b.choice(
        (
            ("cholesky", f"tf.linalg.cholesky({positive})"),
            (
                "triangular_solve",
                f"tf.linalg.triangular_solve({dominant}, {{1}}, lower={b.chance(0.5)})",
            ),
            ("solve", f"tf.linalg.solve({dominant}, {{1}})"),
            ("inverse", f"tf.linalg.inv({dominant})"),
            ("determinant", f"tf.linalg.det({dominant} * {1 / (2 * size + 4)!r})"),
            ("qr", f"tf.abs(tf.linalg.qr({dominant})[1])"),
            ("eigenvalues", f"tf.linalg.eigvalsh({positive})"),
            ("singular_values", f"tf.linalg.svd({dominant}, compute_uv=False)"),
        )
    )
    b.emit(source, value, other, op=name, noise="operands")


FAMILY = {matmul: 10, einsum: 8, convolution: 9, convolution_3d: 3, pool: 5, image: 6,
          batch_normalization: 3, fourier: 2, linear_algebra: 2}  # fmt: skip
