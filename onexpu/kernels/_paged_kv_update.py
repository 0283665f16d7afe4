"""Keys and values of new tokens into a cache of pages (Kwon et al.: PagedAttention, 2023)."""

from __future__ import annotations

from typing import Any

from onexpu._launch.shapes import Operand, like
from onexpu._types import CPP_NAMES
from onexpu.kernels._team_kernel import TeamKernel

# Of a work-item of a CPU.
_TOKENS_AT_ONCE = 4

_SOURCE = (
    f"constexpr int kTokensAtOnce = {_TOKENS_AT_ONCE};"
    + """
// What is copied are bits.
template <typename T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

// A slot below 0 is a large one here, so none outside of the pages gets to write.
template <typename S>
inline bool is_kept(S slot, size_t capacity) {
  return size_t(slot) < capacity;
}

// What is copied to one token's slot.
template <typename B>
struct Rows {
  B *to_keys, *to_values;
  const B *keys, *values;

  template <typename Width>
  void copy(Width width, size_t c) const {
    constexpr int kWidth = decltype(width)::value;
    // Both are read before either is written: a CPU takes a load for one of what has just been
    // stored if the last 12 bits of their addresses are equal, which they often are here.
    const auto key = onexpu::load<B, kWidth>(keys + c);
    const auto value = onexpu::load<B, kWidth>(values + c);
    onexpu::store<B, kWidth>(key, to_keys + c);
    onexpu::store<B, kWidth>(value, to_values + c);
  }
};

// Of some tokens side by side. A row often is a page of memory, and a processor fetches ahead
// within a page only: it has more to fetch from several. Each token's copy begins in another part
// of the row, as equal places of pages share a set of the first cache, and would drive out each
// other.
template <int kTokens, typename B>
inline void copy_side_by_side(const Rows<B>* rows, size_t columns) {
  constexpr int kVector = Team<false>::kVector, kPiece = 4 * kVector;
  const size_t whole = columns / kPiece * kPiece, shift = whole / kTokens / kPiece * kPiece;
  for (size_t begin = 0; begin < whole; begin += kPiece) {
    size_t c = begin;
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
#pragma unroll
      for (int vector = 0; vector < kPiece; vector += kVector)
        rows[i].copy(std::integral_constant<int, kVector>(), c + vector);
      c += shift;
      if (c >= whole) c -= whole;
    }
  }
  for (int i = 0; i < kTokens; ++i)
    for (size_t c = whole; c < columns; ++c) rows[i].copy(std::integral_constant<int, 1>(), c);
}

template <bool is_group, typename T, typename S>
inline void paged_kv_update(T* key_pages, T* value_pages, const T* keys, const T* values,
                            const S* slots, size_t tokens, size_t capacity, size_t columns) {
  using B = Bits<T>;
  const Team<is_group> team;
  const auto rows = [&](size_t token) {
    const size_t to = size_t(slots[token]) * columns, from = token * columns;
    return Rows<B>{reinterpret_cast<B*>(key_pages + to), reinterpret_cast<B*>(value_pages + to),
                   reinterpret_cast<const B*>(keys + from),
                   reinterpret_cast<const B*>(values + from)};
  };
  if constexpr (is_group) {
    if (team.row >= tokens || !is_kept(slots[team.row], capacity)) return;
    const Rows<B> of_token = rows(team.row);
    team.for_columns(columns, [&](auto width, size_t c) { of_token.copy(width, c); });
  } else {
    Rows<B> kept[kTokensAtOnce];
    int count = 0;
    const size_t begin = team.row * kTokensAtOnce;
    for (size_t token = begin; token < sycl::min(begin + kTokensAtOnce, tokens); ++token)
      if (is_kept(slots[token], capacity)) kept[count++] = rows(token);
    if (count == kTokensAtOnce) {
      copy_side_by_side<kTokensAtOnce>(kept, columns);
    } else {
      for (int i = 0; i < count; ++i) copy_side_by_side<1>(kept + i, columns);
    }
  }
}

// The rows that were overwritten have no slope; the tokens have what was theirs.
template <bool is_group, typename T, typename S>
inline void paged_kv_update_gradient(T* key_pages, T* value_pages, const S* slots, T* keys,
                                     T* values, size_t tokens, size_t capacity, size_t columns) {
  using B = Bits<T>;
  const Team<is_group> team;
  if (team.row >= tokens) return;
  const size_t in_pages = size_t(slots[team.row]) * columns, of_token = team.row * columns;
  const bool kept = is_kept(slots[team.row], capacity);
  team.for_columns(columns, [&](auto width, size_t c) {
    constexpr int kWidth = decltype(width)::value;
    const auto take = [&](T* pages, T* tokens) {
      B* from = reinterpret_cast<B*>(pages + in_pages + c);
      B* to = reinterpret_cast<B*>(tokens + of_token + c);
      if (kept) {
        onexpu::store<B, kWidth>(onexpu::load<B, kWidth>(from), to);
        onexpu::store<B, kWidth>(B(0), from);
      } else {
        onexpu::store<B, kWidth>(B(0), to);
      }
    };
    take(key_pages, keys);
    take(value_pages, values);
  });
}

template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_serial(T* key_pages, T* value_pages, const T* keys,
                                          const T* values, const S* slots, size_t tokens,
                                          size_t capacity, size_t columns) {
  paged_kv_update<false>(key_pages, value_pages, keys, values, slots, tokens, capacity, columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_cooperative(T* key_pages, T* value_pages, const T* keys,
                                               const T* values, const S* slots, size_t tokens,
                                               size_t capacity, size_t columns) {
  paged_kv_update<true>(key_pages, value_pages, keys, values, slots, tokens, capacity, columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_gradient_serial(T* key_pages, T* value_pages, const S* slots,
                                                   T* keys, T* values, size_t tokens,
                                                   size_t capacity, size_t columns) {
  paged_kv_update_gradient<false>(key_pages, value_pages, slots, keys, values, tokens, capacity,
                                  columns);
}
template <typename T, typename S>
ONEXPU_KERNEL void paged_kv_update_gradient_cooperative(T* key_pages, T* value_pages,
                                                        const S* slots, T* keys, T* values,
                                                        size_t tokens, size_t capacity,
                                                        size_t columns) {
  paged_kv_update_gradient<true>(key_pages, value_pages, slots, keys, values, tokens, capacity,
                                 columns);
}
"""
)


def _tokens(*operands: Operand) -> Any:
    return next(o for o in operands if o.name == "slots").shape[0]


def _a_token(key_pages: Operand, *operands: Operand) -> tuple[Any, ...]:
    return (_tokens(*operands), *key_pages.shape[2:])


def _rows(*operands: Operand) -> Any:
    """Returns the number of tokens plus 1, because without tokens, the pages are still results."""
    return _tokens(*operands) + 1


_ATTRIBUTES = {
    "tokens": _tokens,
    "capacity": lambda key_pages, *_: key_pages.shape[0] * key_pages.shape[1],
    "columns": lambda key_pages, *_: key_pages.shape[2] * key_pages.shape[3],
}
_DTYPES = {
    "T": [name for name in CPP_NAMES if not name.startswith("complex")],
    "S": ["int32", "int64", "uint32", "uint64"],
}
_PAGES = {name: like(name) for name in ("key_pages", "value_pages")}
_SHAPES = dict.fromkeys(_PAGES, "pages page_size heads features") | {"slots": "tokens"}

_update = TeamKernel(
    _SOURCE,
    "paged_kv_update",
    rows=_rows,
    inputs=["key_pages", "value_pages", "keys", "values", "slots"],
    outputs=_PAGES,
    shapes=_SHAPES | dict.fromkeys(("keys", "values"), "tokens heads features"),
    rows_at_once=_TOKENS_AT_ONCE,
    attributes=_ATTRIBUTES,
    dtypes=_DTYPES,
)
_take_back = TeamKernel(
    _SOURCE,
    "paged_kv_update_gradient",
    rows=_rows,
    inputs=["key_pages", "value_pages", "slots"],
    outputs=_PAGES | dict.fromkeys(("keys", "values"), like("key_pages", shape=_a_token)),
    shapes=_SHAPES,
    attributes=_ATTRIBUTES,
    dtypes=_DTYPES,
)


@_update.defgradient
def _gradient(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> Any:
    return [*_take_back(*cotangents, inputs[-1]), None]


def paged_kv_update(
    key_pages: Any, value_pages: Any, keys: Any, values: Any, slots: Any
) -> tuple[Any, Any]:
    """Writes keys and values of tokens to their slots of a cache, in place if it is donated.

    Parameters
    ----------
    key_pages, value_pages : arrays or tensors [pages, page_size, heads, features]
        The cache. Both have one shape and type, which is not complex.
    keys, values : arrays or tensors of the same type [tokens, heads, features]
    slots : array or tensor, integer of 32 or 64 bits [tokens]
        ``page * page_size + offset``. A token with a slot below 0 or beyond the last page is
        skipped. If two tokens have the same slot, its contents are undefined. A tensor is int64 or
        uint32, because TensorFlow keeps int32 on the host.

    Returns
    -------
    tuple of arrays or tensors
        The caches, with gradients for caches, keys and values.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

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
    pages: tuple[Any, Any] = _update(key_pages, value_pages, keys, values, slots)
    return pages
