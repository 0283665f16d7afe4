"""Top-p, or nucleus, sampling (Holtzman et al.: The Curious Case of Neural Text Degeneration,
2020).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from onexpu._launch.shapes import array
from onexpu.kernels._team_kernel import FLOATING, TeamKernel, all_rows, columns, tensorflow_of

# Sums of so many weights of up to 2**40 are below 2**64.
_MOST_TOKENS = 2**24 - 1

_SOURCE = """
// Weights are exp((logit - largest) / temperature) in units of 2^-40. Sums of integers are the same
// in every order, so all schedules give the same token, and what a histogram counts is what the
// last pass counts. Tokens are ordered by keys, which are their logits as integers of the same
// order.
constexpr int kOne = 1 << 20;  // its square is a weight of 1
constexpr int kBins = 2048;
constexpr float kInfinity = __builtin_inff();

using Weight = std::uint64_t;

template <int width>
inline onexpu::vector<std::uint32_t, width> keys_of(onexpu::vector<float, width> logits) {
  auto bits = __builtin_bit_cast(onexpu::vector<std::uint32_t, width>, logits);
  bits = bits == 0x80000000u ? 0u : bits;  // -0 is 0
  return (bits >> 31) != 0u ? ~bits : bits | 0x80000000u;
}

template <int width>
inline bool any(onexpu::vector<int, width> conditions) {
  int any = 0;
  for (int i = 0; i < width; ++i) any |= conditions[i];
  return any != 0;
}

inline Weight product(Weight sum, float share) {  // rounded down
  return sycl::mul_hi(sum, Weight(share * 0x1p32f) << 32);
}

template <bool is_group, typename T>
struct Row {
  using Team = ::Team<is_group>;
  static constexpr int kVector = Team::kVector;
  using Floats = onexpu::vector<float, kVector>;
  using Keys = onexpu::vector<std::uint32_t, kVector>;
  using Weights = onexpu::vector<Weight, kVector>;

  const Team team;
  const T* const logits;
  const size_t vocabulary;
  float largest, scale;

  // Side by side for each work-item, and in order; the same columns in every pass. Beyond the end
  // are tokens that cannot be.
  template <typename Function>
  void for_vectors(Function function) const {
    for (size_t c = team.lane * kVector; c < vocabulary; c += team.width * kVector)
      function(c, logits_at(c));
  }
  Floats logits_at(size_t c) const {
    if (c + kVector <= vocabulary) return onexpu::load<float, kVector>(logits + c);
    Floats rest = -kInfinity;
    for (size_t i = 0; c + i < vocabulary; ++i) rest[i] = float(logits[c + i]);
    return rest;
  }
  Weights weights_of(Floats logits) const {
    const Floats power = exponential<float, kVector>((logits - largest) * scale);
    const Floats weights = (logits == largest ? Floats(1.0f) : power) * float(kOne);
    const auto whole = __builtin_convertvector(weights, onexpu::vector<int, kVector>);
    const Floats rest = (weights - __builtin_convertvector(whole, Floats)) * float(kOne);
    return __builtin_convertvector(whole, Weights) * Weight(kOne) +
           __builtin_convertvector(__builtin_convertvector(rest, onexpu::vector<int, kVector>),
                                   Weights);
  }

  // False if there is nothing to sample: not a number, or no token that can be.
  bool find_largest() {
    Floats most = -kInfinity;
    onexpu::vector<int, kVector> broken = 0;
    for_vectors([&](size_t, Floats values) {
      most = values > most ? values : most;
      broken |= (__builtin_bit_cast(Keys, values) & 0x7fffffffu) > 0x7f800000u;
    });
    largest = most[0];
    for (int i = 1; i < kVector; ++i) largest = sycl::fmax(largest, most[i]);
    if constexpr (is_group) {
      largest = sycl::reduce_over_group(onexpu::item().get_group(), largest,
                                        sycl::maximum<float>());
    }
    return team.sum(int(any<kVector>(broken))) == 0 && largest > -kInfinity;
  }

  // The first column at which the sum of weigh(column, logits) so far is larger than `passed`.
  template <typename Weigh>
  size_t find(Weight passed, Weigh weigh) const {
    const size_t step = team.width * kVector;
    for (size_t begin = 0; begin < vocabulary; begin += step) {
      const size_t c = begin + team.lane * kVector;
      Weights weights = 0;
      if (c < vocabulary) weights = weigh(c, logits_at(c));
      Weight mine = 0;
      for (int i = 0; i < kVector; ++i) mine += weights[i];
      const Weight all = team.sum(mine);
      if (all <= passed) {
        passed -= all;
        continue;
      }
      const Weight before = team.sum_before(mine);
      size_t found = 0;
      if (before <= passed && passed < before + mine) {
        Weight rest = passed - before;
        while (rest >= weights[found]) rest -= weights[found++];
        found += c;
      }
      return team.sum(found);
    }
    return vocabulary;
  }
};

struct Search {
  std::uint32_t key;  // its upper digits, until it is whole
  Weight above;       // the sum of the weights of larger keys
  Weight equal;       // that of those with its digits
};

// Adds up to kBins weights by a digit of their keys, the largest first, then finds the bin in which
// the sum gets to the target.
template <int shift, int bits, bool is_group, typename T, typename Target>
inline void find_digit(const Row<is_group, T>& row, Weight* bins, Search& search,
                       Target target_of) {
  using Row = Row<is_group, T>;
  constexpr std::uint32_t kMask = (1u << bits) - 1;
  const auto team = row.team;
  const auto synchronise = [] {
    if constexpr (is_group) sycl::group_barrier(onexpu::item().get_group());
  };
  for (size_t bin = team.lane; bin < kBins; bin += team.width) bins[bin] = 0;
  synchronise();
  row.for_vectors([&](size_t, typename Row::Floats logits) {
    const auto keys = keys_of<Row::kVector>(logits);
    typename Row::Weights weights;
    if constexpr (shift + bits == 32) {
      weights = row.weights_of(logits);
    } else {
      const auto is_here = (keys >> (shift + bits)) == (search.key >> (shift + bits));
      if (!any<Row::kVector>(is_here)) return;
      weights = row.weights_of(logits);
      weights =
          __builtin_convertvector(is_here, onexpu::vector<long, Row::kVector>) != 0 ? weights : 0;
    }
    const auto digits = kMask - ((keys >> shift) & kMask);
    for (int i = 0; i < Row::kVector; ++i) {
      if constexpr (is_group) {
        if (weights[i] == 0) continue;
        sycl::atomic_ref<Weight, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                         sycl::access::address_space::local_space>(bins[digits[i]]) += weights[i];
      } else {
        bins[digits[i]] += weights[i];
      }
    }
  });
  synchronise();
  const size_t share = kBins / team.width;
  Weight mine = 0;
  for (size_t i = 0; i < share; ++i) mine += bins[team.lane * share + i];
  const Weight target = target_of(team.sum(mine));
  Weight before = search.above + team.sum_before(mine);
  Search found = {0, 0, 0};
  if (before < target && target <= before + mine) {
    size_t bin = team.lane * share;
    while (before + bins[bin] < target) before += bins[bin++];
    found = {(kMask - std::uint32_t(bin)) << shift, before, bins[bin]};
  }
  search = {search.key | team.sum(found.key), team.sum(found.above), team.sum(found.equal)};
}

template <bool is_group, typename T, typename I>
inline void top_p_sample(const T* logits, const float* uniform, const float* p,
                         const float* temperature, I* tokens, Weight* bins, size_t vocabulary,
                         size_t p_size, size_t temperature_size) {
  const Team<is_group> team;
  Row<is_group, T> row = {team, logits + team.row * vocabulary, vocabulary, 0, 0};
  constexpr int kVector = Row<is_group, T>::kVector;
  using Floats = onexpu::vector<float, kVector>;
  if (!row.find_largest()) {
    if (team.lane == 0) tokens[team.row] = I(-1);
    return;
  }
  const float heat = temperature[team.row % temperature_size];
  row.scale = heat > 0 ? 1 / heat : kInfinity;
  const float share = p[team.row % p_size];

  Weight target = 0;
  Search search = {0, 0, 0};
  find_digit<21, 11>(row, bins, search, [&](Weight all) {
    if (share >= 1) return target = all;
    const float positive = share > 0 ? share : 0;
    target = product(all, positive);
    // Rounded up, and one token at least.
    const bool is_exact = all * (Weight(positive * 0x1p32f) << 32) == 0;
    return target = sycl::max(target + Weight(!is_exact), Weight(1));
  });
  find_digit<10, 11>(row, bins, search, [&](Weight) { return target; });
  find_digit<0, 10>(row, bins, search, [&](Weight) { return target; });

  // Of several tokens with the last key, as few as are needed, those with the lowest numbers.
  const std::uint32_t bits =
      search.key >> 31 != 0 ? search.key & 0x7fffffffu : ~search.key;
  const Weight weight = row.weights_of(Floats(__builtin_bit_cast(float, bits)))[0];
  const Weight needed = (target - search.above + weight - 1) / weight;
  size_t end = vocabulary;
  if (needed * weight < search.equal) {
    end = 1 + row.find(needed - 1, [&](size_t, Floats values) {
      const auto is_equal = keys_of<kVector>(values) == search.key;
      return __builtin_convertvector(is_equal, onexpu::vector<long, kVector>) != 0
                 ? onexpu::vector<Weight, kVector>(1)
                 : onexpu::vector<Weight, kVector>(0);
    });
  }

  const float number = sycl::fmin(sycl::fmax(uniform[team.row], 0.0f), 1 - 0x1p-24f);
  const Weight picked = product(search.above + needed * weight, number);
  const size_t token = row.find(picked, [&](size_t c, Floats values) {
    const auto keys = keys_of<kVector>(values);
    onexpu::vector<Weight, kVector> weights = 0;
    if (!any<kVector>(keys >= search.key)) return weights;
    weights = row.weights_of(values);
    for (int i = 0; i < kVector; ++i) {
      const bool is_in = c + i < end ? keys[i] >= search.key : keys[i] > search.key;
      weights[i] = is_in ? weights[i] : 0;
    }
    return weights;
  });
  if (team.lane == 0) tokens[team.row] = I(token);
}

template <typename T, typename I>
ONEXPU_KERNEL void top_p_sample_serial(const T* logits, const float* uniform, const float* p,
                                       const float* temperature, I* tokens, size_t vocabulary,
                                       size_t p_size, size_t temperature_size) {
  Weight bins[kBins];
  top_p_sample<false>(logits, uniform, p, temperature, tokens, bins, vocabulary, p_size,
                      temperature_size);
}
template <typename T, typename I>
ONEXPU_KERNEL void top_p_sample_cooperative(const T* logits, const float* uniform, const float* p,
                                            const float* temperature, I* tokens, size_t vocabulary,
                                            size_t p_size, size_t temperature_size) {
  sycl::ext::oneapi::experimental::work_group_static<Weight[kBins]> bins;
  top_p_sample<true>(logits, uniform, p, temperature, tokens, &bins[0], vocabulary, p_size,
                     temperature_size);
}
"""


def _size_of(name: str) -> Any:
    return lambda *operands: next(o for o in operands if o.name == name).size


@functools.cache
def _sampler(dtype: str, by_row: tuple[str, ...]) -> TeamKernel:
    """The kernel whose tokens are of a type, where some of p and temperature are those of a row."""
    return TeamKernel(
        _SOURCE,
        "top_p_sample",
        rows=all_rows,
        inputs=["logits", "uniform", "p", "temperature"],
        outputs={"tokens": array(lambda logits, *_: logits.shape[:-1], dtype)},
        attributes={
            "vocabulary": columns,
            "p_size": _size_of("p"),
            "temperature_size": _size_of("temperature"),
        },
        shapes={"logits": "*rows vocabulary", "uniform": "*rows"} | dict.fromkeys(by_row, "*rows"),
        dtypes={"T": FLOATING["T"][:-1]},
    )


def top_p_sample(logits: Any, uniform: Any, *, p: Any, temperature: Any = 1.0) -> Any:
    """Samples a token of each row from the most probable tokens that make up `p`.

    Probabilities are ``softmax(logits / temperature)``. The nucleus is the smallest set of the most
    probable tokens whose probabilities sum to `p` or more; among equally probable tokens the lower
    index comes first. Probabilities are divided by the nucleus' sum. The result is the first token,
    in the order of indices, at which their cumulative sum exceeds ``uniform``.

    Parameters
    ----------
    logits : array or tensor, float of 16 or 32 bits [..., vocabulary]
        A token with the logit -inf is never sampled. Logits of inf share all probability.
    uniform : array or tensor, float32 [...]
        Random values of at least 0 and below 1. The result is a function of them.
    p : float, or array or tensor of float32 [...]
        1 or more: all tokens; 0 or less: the most probable token.
    temperature : float, or array or tensor of float32 [...]
        0 or less is the limit: one of the most probable tokens.

    Returns
    -------
    array or tensor [...]
        int32 for JAX, int64 for TensorFlow. -1 if the logits contain a NaN, or none above -inf.
        There is no gradient.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Holtzman et al.: The Curious Case of Neural Text Degeneration, 2020. The kernel does not
    sort: a histogram of the weights by digits of the logits finds the last token of the nucleus.
    Weights are integers in units of 2**-40 of the largest weight; less probable tokens are never
    sampled.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> logits = jnp.log(jnp.array([[0.3, 0.1, 0.6]] * 3))  # the nucleus is {0, 2}
    >>> onexpu.kernels.top_p_sample(logits, jnp.array([0.0, 0.3, 0.4]), p=0.8)
    Array([0, 0, 2], dtype=int32)
    """
    shape = tuple(logits.shape)
    if not shape or shape[-1] is not None and not 1 <= shape[-1] <= _MOST_TOKENS:
        raise ValueError(
            f"onexpu.kernels.top_p_sample: logits have the shape {shape}; it must be [..., "
            f"vocabulary] with 1 to {_MOST_TOKENS} tokens"
        )
    numbers = {
        name: np.float32(value) if isinstance(value, float | int) else value
        for name, value in (("p", p), ("temperature", temperature))
    }
    by_row = tuple(name for name, x in numbers.items() if tuple(x.shape) not in ((), (1,)))
    operands = (logits, uniform, *numbers.values())
    # TensorFlow keeps int32 on the host.
    return _sampler("int64" if tensorflow_of(*operands) else "int32", by_row)(*operands)
