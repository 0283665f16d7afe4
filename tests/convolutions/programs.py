"""JAX programs of convolutions on xpu, whose results are compared with the reference."""

from __future__ import annotations

import numpy as np

from tests.convolutions.forms import Form, form_of
from tests.convolutions.reference import reference

# The unit of rounding. Integer results are exact.
_UNIT = {"float32": 2.0**-23, "bfloat16": 2.0**-8, "float16": 2.0**-11, "int8": 0.0}


def operands_of(form: Form, seed: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    # Sums of float results stay exact, below 2^24.
    limit = 15 if form.float_result else {"int8": 127, "float16": 2}.get(form.dtype, 3)

    def draw(*shape):
        return numbers.integers(-limit, limit + 1, shape).astype(np.float64)

    result = (form.batch, form.groups, form.features, *form.result)
    return {
        "x": draw(form.batch, form.groups, form.channels, *form.size),
        "w": draw(form.groups, form.features, form.channels, *form.kernel),
        "cotangent": draw(*result),
        "bias": draw(form.groups, form.features, *(1,) * form.rank),
        "residual": draw(*result),
    }


def _function(form: Form):
    """Returns the JAX function of a form's operands; its results are what `_expected` gives."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    letters = "DHW"[-form.rank :]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C") if form.channels_last else (
        f"NC{letters}", f"OI{letters}", f"NC{letters}"
    )  # fmt: skip
    result_type = None
    if form.dtype == "int8":
        result_type = jnp.float32 if form.float_result else jnp.int32

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, form.strides, form.padding, form.base_dilation, form.kernel_dilation, numbers,
            feature_group_count=form.groups, preferred_element_type=result_type,
        )  # fmt: skip

    def function(x, w, cotangent, bias, residual):
        y = convolve(x, w)
        y = y + bias if form.bias else y
        y = y + residual if form.residual else y
        if form.activation == "relu":
            y = jax.nn.relu(y)
        elif form.activation == "leaky_relu":
            y = jax.nn.leaky_relu(y, 0.25)
        elif form.activation == "tanh":
            y = jnp.tanh(y)
        if form.dtype == "int8":
            return (y,)
        return (y, *jax.vjp(convolve, x, w)[1](cotangent))

    return function


def _device_array(form: Form, name: str, value: np.ndarray):
    """An operand as JAX takes it: groups joined with channels, in the form's layout and type."""
    import jax.numpy as jnp

    if name == "w":
        value = value.reshape(form.groups * form.features, form.channels, *form.kernel)
        value = np.moveaxis(value, (0, 1), (-1, -2)) if form.channels_last else value
    else:
        batch = 1 if name == "bias" else form.batch
        value = value.reshape(batch, -1, *value.shape[-form.rank :])
        value = np.moveaxis(value, 1, -1) if form.channels_last else value
    return np.ascontiguousarray(value).astype(jnp.dtype(form.dtype))


def _plain_array(form: Form, name: str, value: np.ndarray) -> np.ndarray:
    """The inverse for results: `y`, `dx` and `dw`."""
    value = np.asarray(value).astype(np.float64)
    if name == "dw":
        value = np.moveaxis(value, (-1, -2), (0, 1)) if form.channels_last else value
        return value.reshape(form.groups, form.features, form.channels, *form.kernel)
    value = np.moveaxis(value, -1, 1) if form.channels_last else value
    channels = form.features if name == "y" else form.channels
    return value.reshape(form.batch, form.groups, channels, *value.shape[2:])


def _expected(
    form: Form, operands: dict[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The results in float64, each with what the error of its elements may be."""
    y, dx, dw = reference(form, operands["x"], operands["w"], operands["cotangent"])
    unit = _UNIT[form.dtype]
    scale = np.abs(y)  # of what is rounded on the way
    if form.bias:
        y = y + operands["bias"]
        scale = scale + np.abs(y)
    if form.residual:
        y = y + operands["residual"]
        scale = scale + np.abs(y)
    tolerance = unit * scale
    if form.activation == "relu":
        y = np.maximum(y, 0)
    elif form.activation == "leaky_relu":
        y = np.where(y > 0, y, 0.25 * y)
    elif form.activation == "tanh":
        y = np.tanh(y)
        tolerance = tolerance + 8 * unit
    return {"y": (y, tolerance), "dx": (dx, unit * np.abs(dx)), "dw": (dw, unit * np.abs(dw))}


def _differences(form: Form, seed: int, operands: dict[str, np.ndarray], results) -> list[dict]:
    found = []
    expected = _expected(form, operands)
    for name, value in zip(("y", "dx", "dw"), results, strict=False):
        actual, (wanted, tolerance) = _plain_array(form, name, value), expected[name]
        wrong = ~(np.abs(actual - wanted) <= tolerance)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            what = f"{int(wrong.sum())} of {wrong.size} elements, first {index}: "
            what += f"{actual[index]} for {wanted[index]}"
            found.append({"seed": seed, "result": name, "what": what, "form": str(form)})
    return found


def run_forms(seeds: list[int], damage: bool = False) -> list[dict]:
    """Runs the forms of `seeds` as one program on xpu.

    Parameters
    ----------
    damage : bool
        Change one element of every result before the comparison, which must find it.

    Returns
    -------
    list of dict
        A finding for each result that is wrong.
    """
    import jax

    forms = [form_of(seed) for seed in seeds]
    operands = [operands_of(form, abs(seed)) for form, seed in zip(forms, seeds, strict=True)]
    arrays = [
        [_device_array(f, name, o[name]) for name in o]
        for f, o in zip(forms, operands, strict=True)
    ]
    functions = [_function(form) for form in forms]
    device = jax.devices("xpu")[0]
    program = jax.jit(
        lambda all_arrays: [f(*a) for f, a in zip(functions, all_arrays, strict=True)]
    )
    results = program(jax.device_put(arrays, device))
    results = jax.tree.map(np.array, results)
    if damage:
        for value in jax.tree.leaves(results):
            value.flat[-1] += 1 + abs(value.flat[-1])
    found = []
    for form, seed, values, result in zip(forms, seeds, operands, results, strict=True):
        found += _differences(form, seed, values, result)
    return found
