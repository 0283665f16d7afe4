"""What TensorFlow programs call besides TensorFlow: gradients, variables, optimisers.

The source of this file is copied into standalone scripts.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

__all__ = ["assigned", "gradient", "looped", "mapped", "minimized", "narrow", "per_step", "resized"]

# What programs on a device hold, in the order in which a program makes it. A function is traced
# more than once and may make variables only the first time, so each run finds those of the runs
# before.
_KEPT = {}
_RUN = ["", 0]


def forget():
    """Lets go of all variables and optimisers."""
    _KEPT.clear()


def forget_device(device):
    """Lets go of a device's variables, whose types another form of a program may not share."""
    _KEPT.pop(device, None)


def started(program, device):
    """Returns a program as a function whose variables are those of a device."""

    def run(*inputs):
        _RUN[:] = [device, 0]
        return program(*inputs)

    return run


def _made_once(make):
    device, count = _RUN
    _RUN[1] += 1
    made = _KEPT.setdefault(device, [])
    if count == len(made):
        with tf.init_scope(), tf.device(device):
            made.append(make())
    return made[count]


def gradient(function, *operands):
    """Returns the gradient of a function's result, summed, by its first operand; zeros if none."""
    with tf.GradientTape() as tape:
        tape.watch(operands[0])
        result = function(*operands)
    found = tape.gradient(result, operands[0], unconnected_gradients="zero")
    return tf.convert_to_tensor(found)


def assigned(value, shape, *steps):
    """Assigns a value to a variable, then lets each step change the variable; returns its value."""
    dtype = value.dtype
    variable = _made_once(lambda: tf.Variable(tf.zeros(shape, dtype)))
    variable.assign(value)
    for step in steps:
        step(variable)
    return variable.read_value()


def minimized(name, options, loss, start, shape, steps):
    """Returns a variable after some steps of a Keras optimiser that reduces a loss, in float32."""

    def make():
        variable = tf.Variable(tf.zeros(shape, tf.float32))
        optimizer = getattr(tf.keras.optimizers, name)(**options)
        optimizer.build([variable])
        return variable, optimizer, [one.numpy() for one in optimizer.variables]

    variable, optimizer, state = _made_once(make)
    variable.assign(tf.cast(start, tf.float32))
    for one, value in zip(optimizer.variables, state, strict=True):
        one.assign(value)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = loss(variable.value())
        optimizer.apply([tape.gradient(value, variable)], [variable])
    return tf.cast(variable.read_value(), start.dtype)


def narrow(function, *operands):
    """Applies a function that has no float64 form; its result has the type of the first operand."""
    result = function(*(tf.cast(x, tf.float32) if x.dtype == tf.float64 else x for x in operands))
    return tf.cast(result, operands[0].dtype) if result.dtype.is_floating else result


def looped(count, body, value):
    """Applies `body(i, value)` up to 8 times in a `tf.while_loop`; `count` may be a tensor.

    Gradients of compiled loops need the limit.
    """
    count = tf.cast(count, tf.int32)
    return tf.while_loop(
        lambda i, _: i < count,
        lambda i, x: (i + 1, body(i, x)),
        (tf.constant(0), value),
        maximum_iterations=8,
    )[1]


def mapped(function, rows):
    """Returns `tf.map_fn` of rows, whose result may have another dtype."""
    like = function(rows[0])
    return tf.map_fn(function, rows, fn_output_signature=tf.TensorSpec(like.shape, like.dtype))


def per_step(function, rows):
    """Applies a function to each row, in a loop that writes a TensorArray."""
    like = function(rows[0])
    count = tf.shape(rows)[0]
    array = tf.TensorArray(like.dtype, size=count, element_shape=like.shape)
    return tf.while_loop(
        lambda i, _: i < count,
        lambda i, written: (i + 1, written.write(i, function(rows[i]))),
        (tf.constant(0), array),
        maximum_iterations=rows.shape[0],
    )[1].stack()


def resized(value, shape):
    """Returns the elements of a value in another shape: cut, or followed by zeros."""
    count = int(np.prod(shape, dtype=np.int64))
    flat = tf.concat([tf.reshape(value, [-1]), tf.zeros([count], value.dtype)], 0)
    return tf.reshape(flat[:count], shape)
