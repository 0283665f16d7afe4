"""Adam with decoupled weight decay (Loshchilov, Hutter: Decoupled Weight Decay Regularization,
2019).
"""

from __future__ import annotations

import math
from typing import Any

from onexpu._launch.shapes import like
from onexpu.kernels._team_kernel import FLOATING, TeamKernel, block_rows, size

_SOURCE = """
// Shares are those of the new gradient, 1 - b1 and 1 - b2: rounded to a float, they keep the digits
// that 0.999 would lose. 1 - b^t is -expm1(t log(b)) for the same reason.
template <typename C, typename S>
inline C reciprocal_correction(C share, const S* step_count) {
  return C(-1) / sycl::expm1(C(*step_count) * sycl::log1p(-share));
}

template <bool is_group, typename P, typename G, typename M, typename S, typename R>
inline void adamw(P* parameter, const G* gradient, M* m, M* v, const S* step_count,
                  const R* learning_rate, float m_share, float v_share, float epsilon,
                  float weight_decay, size_t size) {
  using C = std::conditional_t<std::is_same_v<M, double>, double, onexpu::wide<P>>;
  const C m_correction = reciprocal_correction(C(m_share), step_count);
  const C v_correction = reciprocal_correction(C(v_share), step_count);
  const C rate = C(*learning_rate);
  for_elements<is_group>(size, [&](auto width, size_t i) {
    constexpr int kWidth = decltype(width)::value;
    using Numbers = onexpu::vector<C, kWidth>;
    const Numbers g = onexpu::load<C, kWidth>(gradient + i);
    const Numbers p = onexpu::load<C, kWidth>(parameter + i);
    const Numbers mean =
        onexpu::load<C, kWidth>(m + i) * (C(1) - C(m_share)) + g * C(m_share);
    const Numbers square =
        onexpu::load<C, kWidth>(v + i) * (C(1) - C(v_share)) + g * g * C(v_share);
    onexpu::store<C, kWidth>(mean, m + i);
    onexpu::store<C, kWidth>(square, v + i);
    const Numbers root = square_root<C, kWidth>(square * v_correction);
    const Numbers step = mean * m_correction / (root + C(epsilon)) + p * C(weight_decay);
    onexpu::store<C, kWidth>(p - step * rate, parameter + i);
  });
}

template <typename P, typename G, typename M, typename S, typename R>
ONEXPU_KERNEL void adamw_serial(P* parameter, const G* gradient, M* m, M* v, const S* step_count,
                                const R* learning_rate, float m_share, float v_share, float epsilon,
                                float weight_decay, size_t size) {
  adamw<false>(parameter, gradient, m, v, step_count, learning_rate, m_share, v_share, epsilon,
               weight_decay, size);
}
template <typename P, typename G, typename M, typename S, typename R>
ONEXPU_KERNEL void adamw_cooperative(P* parameter, const G* gradient, M* m, M* v,
                                     const S* step_count, const R* learning_rate, float m_share,
                                     float v_share, float epsilon, float weight_decay,
                                     size_t size) {
  adamw<true>(parameter, gradient, m, v, step_count, learning_rate, m_share, v_share, epsilon,
              weight_decay, size);
}
"""

_update = TeamKernel(
    _SOURCE,
    "adamw",
    rows=block_rows,
    inputs=["parameter", "gradient", "m", "v", "step_count", "learning_rate"],
    outputs={name: like(name) for name in ("parameter", "m", "v")},
    attributes=dict.fromkeys(("m_share", "v_share", "epsilon", "weight_decay"), float)
    | {"size": size},
    shapes=dict.fromkeys(("parameter", "gradient", "m", "v"), "*sizes"),
    dtypes=dict.fromkeys("PGMR", FLOATING["T"])
    | {"S": ["int32", "int64", "uint32", "uint64", "float32"]},
)


def adamw(
    parameter: Any,
    gradient: Any,
    m: Any,
    v: Any,
    step_count: Any,
    learning_rate: Any,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[Any, Any, Any]:
    """Takes a step of AdamW, in place if the operands are donated.

    ``m = b1 m + (1 - b1) g``, ``v = b2 v + (1 - b2) g**2``, and
    ``parameter -= learning_rate (step + weight_decay parameter)``, where ``step`` is
    ``m / (1 - b1**t) / (sqrt(v / (1 - b2**t)) + epsilon)``. Epsilon is added to the root of the
    corrected `v`, as in the paper, PyTorch and optax.

    Parameters
    ----------
    parameter : array or tensor, float of 16, 32 or 64 bits
    gradient : array or tensor of its shape, float of 16, 32 or 64 bits
    m, v : arrays or tensors of its shape, of one type, float of 16, 32 or 64 bits
        Means of the gradient and of its square, zeros before the first step. Use float32 if the
        parameter has half precision.
    step_count : array or tensor of one element, integer or float32
        1 in the first step. A tensor is int64, uint32 or float32, because TensorFlow keeps int32 on
        the host.
    learning_rate : array or tensor of one element, float
        Like `step_count`, it is a value of the computation, so a schedule does not recompile
        anything.
    b1, b2 : float
        The decay rates of `m` and `v`, at least 0 and below 1.
    epsilon : float
        Avoids a division by zero for small gradients.
    weight_decay : float
        The decay of the parameter; each step multiplies it by the learning rate.

    Returns
    -------
    tuple of arrays or tensors
        The new parameter, `m` and `v`, each like the old one. Computed in single precision (double
        if the parameter or `m` and `v` are double) and rounded once. There is no gradient.

    Raises
    ------
    TypeError, ValueError
        If types, shapes or numbers do not fit.

    Notes
    -----
    Loshchilov, Hutter: Decoupled Weight Decay Regularization, 2019, algorithm 2. Keras's AdamW adds
    its epsilon before it corrects `v`; optax.adamw's default of `weight_decay` is 1e-4.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> w, zeros = jnp.array([1.0, -1.0]), jnp.zeros(2)
    >>> w, m, v = onexpu.kernels.adamw(w, jnp.array([0.5, 2.0]), zeros, zeros, 1, 0.1)
    >>> w, m
    (Array([ 0.899, -1.099], dtype=float32), Array([0.05, 0.2 ], dtype=float32))
    """
    for name, value in (("step_count", step_count), ("learning_rate", learning_rate)):
        shape = tuple(getattr(value, "shape", ()))
        if None not in shape and math.prod(shape) != 1:
            raise ValueError(
                f"onexpu.kernels.adamw: {name} has the shape {shape}; it must be one number"
            )
    for name, value in (("b1", b1), ("b2", b2)):
        if not 0 <= value < 1:
            raise ValueError(
                f"onexpu.kernels.adamw: {name} is {value}; it must be at least 0 and below 1"
            )
    step: tuple[Any, Any, Any] = _update(
        parameter,
        gradient,
        m,
        v,
        step_count,
        learning_rate,
        m_share=1 - b1,
        v_share=1 - b2,
        epsilon=epsilon,
        weight_decay=weight_decay,
    )
    return step


def adamw_tree(
    parameters: Any,
    gradients: Any,
    m: Any,
    v: Any,
    step_count: Any,
    learning_rate: Any,
    **options: float,
) -> tuple[Any, Any, Any]:
    """Takes a step of AdamW for all leaves of a tree; see `adamw`.

    Parameters
    ----------
    parameters, gradients, m, v : trees of one structure
        Trees of ``jax.tree``, with arrays or tensors as leaves.
    step_count, learning_rate : arrays or tensors of one element
    **options : float
        Options of `adamw`.

    Returns
    -------
    tuple of trees
        The new parameters, `m` and `v`.

    Raises
    ------
    TypeError, ValueError
        If the trees differ in structure, and as `adamw`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> w = {"bias": jnp.ones(1), "scale": jnp.ones(2)}
    >>> zeros = jax.tree.map(jnp.zeros_like, w)
    >>> w, m, v = onexpu.kernels.adamw_tree(w, w, zeros, zeros, 1, 0.1, weight_decay=0.0)
    >>> w
    {'bias': Array([0.9], dtype=float32), 'scale': Array([0.9, 0.9], dtype=float32)}
    """
    import jax  # trees are JAX's; without them, TensorFlow alone needs no JAX

    structure: Any  # JAX does not declare the methods of a PyTreeDef
    leaves, structure = jax.tree.flatten(parameters)
    leaves_of_gradients, leaves_of_m, leaves_of_v = (
        structure.flatten_up_to(tree) for tree in (gradients, m, v)
    )
    steps = [
        adamw(*of_a_leaf, step_count, learning_rate, **options)
        for of_a_leaf in zip(leaves, leaves_of_gradients, leaves_of_m, leaves_of_v, strict=True)
    ]
    new_parameters, new_m, new_v = ([step[i] for step in steps] for i in range(3))
    return (
        structure.unflatten(new_parameters),
        structure.unflatten(new_m),
        structure.unflatten(new_v),
    )
