"""Keys and values of new tokens into a cache of pages (Kwon et al.: PagedAttention, 2023)."""

from __future__ import annotations

from typing import Any

from onexpu._shapes import Operand, like
from onexpu._types import CPP_NAMES
from onexpu.kernels._teams import TeamKernel

_SOURCE = """
// What is copied are bits.
template <typename T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

// A team has a token; write(width, in the pages, among the tokens) is called for pieces of its row,
// or skip(width, among the tokens). A slot below 0 is a large one here, so none outside of the pages
// gets to write.
template <bool is_group, typename S, typename Write, typename Skip>
inline void for_row(const S* slots, size_t tokens, size_t capacity, size_t columns, Write write,
                    Skip skip) {
  const Team<is_group> team;
  if (team.row >= tokens) return;
  const size_t slot = size_t(slots[team.row]), of_token = team.row * columns;
  if (slot >= capacity) {
    team.for_columns(columns, [&](auto width, size_t c) { skip(width, of_token + c); });
  } else {
    team.for_columns(columns, [&](auto width, size_t c) {
      write(width, slot * columns + c, of_token + c);
    });
  }
}

template <bool is_group, typename T, typename S>
inline void paged_kv_update(T* key_pages, T* value_pages, const T* keys, const T* values,
                            const S* slots, size_t tokens, size_t capacity, size_t columns) {
  using B = Bits<T>;
  for_row<is_group>(
      slots, tokens, capacity, columns,
      [&](auto width, size_t in_pages, size_t of_token) {
        constexpr int kWidth = decltype(width)::value;
        // Both are read before either is written: a CPU takes a load for one of what has just been
        // stored if the last 12 bits of their addresses are equal, which they often are here.
        const auto key = onexpu::load<B, kWidth>(reinterpret_cast<const B*>(keys + of_token));
        const auto value = onexpu::load<B, kWidth>(reinterpret_cast<const B*>(values + of_token));
        onexpu::store<B, kWidth>(key, reinterpret_cast<B*>(key_pages + in_pages));
        onexpu::store<B, kWidth>(value, reinterpret_cast<B*>(value_pages + in_pages));
      },
      [](auto, size_t) {});
}

// The rows that were overwritten have no slope; the tokens have what was theirs.
template <bool is_group, typename T, typename S>
inline void paged_kv_update_gradient(T* key_pages, T* value_pages, const S* slots, T* keys,
                                     T* values, size_t tokens, size_t capacity, size_t columns) {
  using B = Bits<T>;
  const auto clear = [](auto width, T* at) {
    onexpu::store<B, decltype(width)::value>(B(0), reinterpret_cast<B*>(at));
  };
  const auto take = [&](auto width, T* from, T* to) {
    constexpr int kWidth = decltype(width)::value;
    onexpu::store<B, kWidth>(onexpu::load<B, kWidth>(reinterpret_cast<const B*>(from)),
                             reinterpret_cast<B*>(to));
    clear(width, from);
  };
  for_row<is_group>(
      slots, tokens, capacity, columns,
      [&](auto width, size_t in_pages, size_t of_token) {
        take(width, key_pages + in_pages, keys + of_token);
        take(width, value_pages + in_pages, values + of_token);
      },
      [&](auto width, size_t of_token) {
        clear(width, keys + of_token);
        clear(width, values + of_token);
      });
}

template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_alone(T* key_pages, T* value_pages, const T* keys,
                                         const T* values, const S* slots, size_t tokens,
                                         size_t capacity, size_t columns) {
  paged_kv_update<false>(key_pages, value_pages, keys, values, slots, tokens, capacity, columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_together(T* key_pages, T* value_pages, const T* keys,
                                            const T* values, const S* slots, size_t tokens,
                                            size_t capacity, size_t columns) {
  paged_kv_update<true>(key_pages, value_pages, keys, values, slots, tokens, capacity, columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_gradient_alone(T* key_pages, T* value_pages, const S* slots,
                                                  T* keys, T* values, size_t tokens,
                                                  size_t capacity, size_t columns) {
  paged_kv_update_gradient<false>(key_pages, value_pages, slots, keys, values, tokens, capacity,
                                  columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_gradient_together(T* key_pages, T* value_pages, const S* slots,
                                                     T* keys, T* values, size_t tokens,
                                                     size_t capacity, size_t columns) {
  paged_kv_update_gradient<true>(key_pages, value_pages, slots, keys, values, tokens, capacity,
                                 columns);
}
"""


def _tokens(*operands: Operand) -> Any:
    return next(o for o in operands if o.name == "slots").shape[0]


def _a_token(key_pages: Operand, *operands: Operand) -> tuple[Any, ...]:
    return (_tokens(*operands), *key_pages.shape[2:])


_DEFINITION = {
    # One more than there are: without tokens the pages still are results of a launch.
    "rows": lambda *operands: _tokens(*operands) + 1,
    "attributes": {
        "tokens": _tokens,
        "capacity": lambda key_pages, *_: key_pages.shape[0] * key_pages.shape[1],
        "columns": lambda key_pages, *_: key_pages.shape[2] * key_pages.shape[3],
    },
    "dtypes": {
        "T": [name for name in CPP_NAMES if not name.startswith("complex")],
        "S": ["int32", "int64", "uint32", "uint64"],
    },
}
_PAGES = {name: like(name) for name in ("key_pages", "value_pages")}
_SHAPES = dict.fromkeys(_PAGES, "pages page_size heads features") | {"slots": "tokens"}

_update = TeamKernel(
    _SOURCE,
    "paged_kv_update",
    inputs=["key_pages", "value_pages", "keys", "values", "slots"],
    outputs=_PAGES,
    shapes=_SHAPES | dict.fromkeys(("keys", "values"), "tokens heads features"),
    **_DEFINITION,
)
_take_back = TeamKernel(
    _SOURCE,
    "paged_kv_update_gradient",
    inputs=["key_pages", "value_pages", "slots"],
    outputs=_PAGES | dict.fromkeys(("keys", "values"), like("key_pages", shape=_a_token)),
    shapes=_SHAPES,
    **_DEFINITION,
)


@_update.defgradient
def _gradient(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> Any:
    return [*_take_back(*cotangents, inputs[-1]), None]


def paged_kv_update(
    key_pages: Any, value_pages: Any, keys: Any, values: Any, slots: Any
) -> tuple[Any, Any]:
    """Writes keys and values of tokens into their slots of a cache, in place where it is donated.

    Parameters
    ----------
    key_pages, value_pages : arrays or tensors of one shape and type [pages, page_size, heads, features]
        The cache. Any type but complex ones.
    keys, values : arrays or tensors of the same type [tokens, heads, features]
    slots : array or tensor, integer of 32 or 64 bits [tokens]
        ``page * page_size + offset``. A token with a slot below 0 or beyond the last page is left
        out: nothing is ever written elsewhere. No two tokens may have one slot; what it holds
        afterwards is not defined. TensorFlow's has to be int64 or uint32, as it keeps int32 on the
        host.

    Returns
    -------
    tuple of arrays or tensors
        The caches, with gradients for caches, keys and values.

    Raises
    ------
    TypeError, ValueError
        Other types or shapes.

    Notes
    -----
    Kwon et al.: Efficient Memory Management for Large Language Model Serving with PagedAttention,
    2023.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> pages = jnp.zeros((2, 3, 1, 1))  # 2 pages of 3 slots
    >>> new, slots = jnp.array([5.0, 7.0, 9.0]).reshape(3, 1, 1), jnp.array([1, 3, -1])
    >>> keys, values = onexpu.kernels.paged_kv_update(pages, pages, new, -new, slots)
    >>> keys.reshape(2, 3)
    Array([[0., 5., 0.],
           [7., 0., 0.]], dtype=float32)
    """
    return _update(key_pages, value_pages, keys, values, slots)
