"""The SYCL source of attention's kernels: forward, and the gradients of queries, keys and
values.
"""

from __future__ import annotations

_SOURCE = """
// A work-item owns some queries (or, for the gradients of keys and values, some keys) and walks
// over the others' rows, a block at a time. Its own lie side by side as the lanes of vectors, so
// all it does is multiply numbers of a row with vectors of its own: nothing is summed up across
// lanes, and rows are read as they lie in memory. A CPU's lanes are those of its vectors; a GPU's
// work-item has one, and its sub-group reads a row together. What has `unroll 1` would be unrolled
// for nothing, and cost seconds of compilation.
template <bool is_group, typename T>
struct Tile {
  using C = onexpu::wide<T>;
  static constexpr int kLanes = is_group ? 1 : 64 / sizeof(C);
  using Lanes = onexpu::vector<C, kLanes>;
  // Vectors that the numbers of a row are used for once they are in the nearest cache.
  static constexpr int kPanels = is_group ? 1 : kFeatures <= 128 ? 4 : 2;
  static constexpr int kOwn = kLanes * kPanels;
  // Rows whose sums are in registers at once.
  static constexpr int kRows = 6;
  static constexpr int kBlock = is_group            ? 2 * kRows
                                : kFeatures <= 64  ? 96
                                : kFeatures <= 128 ? 48
                                                   : 24;

  static Lanes load(const C* from) { return onexpu::load<C, kLanes>(from); }
  static void store(Lanes lanes, C* to) { onexpu::store<C, kLanes>(lanes, to); }

  // Rows of a block: on a CPU converted, close together; on a GPU where they are.
  class Rows {
   public:
    void read(const T* from, long stride, long count) {
      if constexpr (is_group) {
        from_ = from;
        stride_ = stride;
      } else {
        constexpr int kWhole = kFeatures / kLanes * kLanes;
        for (long row = 0; row < count; ++row) {
          for (int i = 0; i < kWhole; i += kLanes)
            store(onexpu::load<C, kLanes>(from + row * stride + i), copy_ + row * kFeatures + i);
          #pragma unroll 1
          for (int i = kWhole; i < kFeatures; ++i)
            copy_[row * kFeatures + i] = C(from[row * stride + i]);
        }
      }
    }
    C at(long row, int feature) const {
      if constexpr (is_group) {
        return C(from_[row * stride_ + feature]);
      } else {
        return copy_[row * kFeatures + feature];
      }
    }

   private:
    const T* from_;
    long stride_;
    C copy_[is_group ? 1 : kBlock * kFeatures];
  };

  // A panel's lanes of each feature, of what belongs to the work-item.
  struct Panel {
    C numbers[kFeatures * kLanes];
    void read(const T* from, long stride, long first, long end) {
      #pragma unroll 1
      for (int lane = 0; lane < kLanes; ++lane) {
        const T* const row = from + sycl::min(first + lane, end - 1) * stride;
        #pragma unroll 1
        for (int i = 0; i < kFeatures; ++i) numbers[i * kLanes + lane] = C(row[i]);
      }
    }
    void write(T* to, long stride, long first, long end) const {
      for (int lane = 0; lane < kLanes && first + lane < end; ++lane)
        #pragma unroll 1
        for (int i = 0; i < kFeatures; ++i)
          to[(first + lane) * stride + i] = T(numbers[i * kLanes + lane]);
    }
    void clear() {
      #pragma unroll 1
      for (int i = 0; i < kFeatures; ++i) store(Lanes(C(0)), numbers + i * kLanes);
    }
    void scale(Lanes by) {
      #pragma unroll 1
      for (int i = 0; i < kFeatures; ++i)
        store(load(numbers + i * kLanes) * by, numbers + i * kLanes);
    }
  };

  // products[row] = the sum over features of rows[row] and the panel's.
  template <int rows>
  static void multiply(const Rows& block, long row, const Panel& panel, C* products) {
    Lanes sums[rows];
    #pragma unroll
    for (int r = 0; r < rows; ++r) sums[r] = Lanes(C(0));
    #pragma unroll 1
    for (int i = 0; i < kFeatures; ++i) {
      const Lanes lanes = load(panel.numbers + i * kLanes);
      #pragma unroll
      for (int r = 0; r < rows; ++r) sums[r] += block.at(row + r, i) * lanes;
    }
    #pragma unroll
    for (int r = 0; r < rows; ++r) store(sums[r], products + (row + r) * kLanes);
  }
  static void multiply(const Rows& block, long count, const Panel& panel, C* products) {
    long row = 0;
    for (; row + kRows <= count; row += kRows) multiply<kRows>(block, row, panel, products);
    for (; row < count; ++row) multiply<1>(block, row, panel, products);
  }

  // panel = panel * by + the sum over rows of factors[row] and each row's features.
  template <int features>
  static void accumulate(const Rows& block, long count, int feature, const C* factors, Lanes by,
                         Panel& panel) {
    Lanes sums[features];
    #pragma unroll
    for (int i = 0; i < features; ++i)
      sums[i] = load(panel.numbers + (feature + i) * kLanes) * by;
    for (long row = 0; row < count; ++row) {
      const Lanes lanes = load(factors + row * kLanes);
      #pragma unroll
      for (int i = 0; i < features; ++i) sums[i] += block.at(row, feature + i) * lanes;
    }
    #pragma unroll
    for (int i = 0; i < features; ++i) store(sums[i], panel.numbers + (feature + i) * kLanes);
  }
  static void accumulate(const Rows& block, long count, const C* factors, Lanes by, Panel& panel) {
    int feature = 0;
    for (; feature + kRows <= kFeatures; feature += kRows)
      accumulate<kRows>(block, count, feature, factors, by, panel);
    if constexpr (kFeatures % kRows != 0)
      accumulate<kFeatures % kRows>(block, count, feature, factors, by, panel);
  }

  // first, first + 1, ...; exact: positions are below 2^24.
  static Lanes positions(long first) {
    C numbers[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = C(first + lane);
    return load(numbers);
  }
  // Of one number for each position; `otherwise` beyond the end.
  static Lanes read_numbers(const C* from, long first, long end) {
    C numbers[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      numbers[lane] = from[sycl::min(first + lane, end - 1)];
    return load(numbers);
  }
  static void write_numbers(Lanes lanes, C* to, long first, long end) {
    C numbers[kLanes];
    store(lanes, numbers);
    for (int lane = 0; lane < kLanes && first + lane < end; ++lane)
      to[first + lane] = numbers[lane];
  }
};

// Which of the positions of one head of one sequence are the work-item's. The last ones first: with
// a causal mask these see most.
template <bool is_group, typename T>
struct Part {
  long batch, head, begin, span_end;
  Part(long positions, long heads) {
    const Team<is_group> team;
    const long span = is_group ? team.width : Tile<is_group, T>::kOwn;
    const long spans = (positions + span - 1) / span;
    const long number = spans - 1 - long(team.row) % spans;
    head = long(team.row) / spans % heads;
    batch = long(team.row) / spans / heads;
    begin = number * span + long(team.lane);
    span_end = number * span + span;
  }
};

template <typename C>
constexpr C kNothing = -std::numeric_limits<C>::infinity();

template <bool is_group, typename T>
inline void attention(const T* query, const T* key, const T* value, T* y, onexpu::wide<T>* log_sums,
                      onexpu::wide<T> scale, bool causal, long queries, long keys, long heads,
                      long sharing) {
  using Tile = Tile<is_group, T>;
  using C = typename Tile::C;
  using Lanes = typename Tile::Lanes;
  const Part<is_group, T> part(queries, heads);
  if (part.begin >= queries) return;
  const long row = heads * kFeatures, key_row = row / sharing;
  const long key_start = part.batch * keys * key_row + part.head / sharing * kFeatures;
  const long start = part.batch * queries * row + part.head * kFeatures;

  typename Tile::Panel own[Tile::kPanels], sums[Tile::kPanels];
  Lanes greatest[Tile::kPanels], weights[Tile::kPanels];
  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    own[p].read(query + start, row, part.begin + p * Tile::kLanes, queries);
    own[p].scale(Lanes(scale));
    sums[p].clear();
    greatest[p] = Lanes(kNothing<C>);
    weights[p] = Lanes(C(0));
  }

  typename Tile::Rows key_rows, value_rows;
  C scores[Tile::kBlock * Tile::kLanes];
  const long visible = causal ? sycl::min(keys, part.span_end) : keys;
  for (long first = 0; first < visible; first += Tile::kBlock) {
    const long count = sycl::min(long(Tile::kBlock), visible - first);
    key_rows.read(key + key_start + first * key_row, key_row, count);
    value_rows.read(value + key_start + first * key_row, key_row, count);
    #pragma unroll 1
    for (int p = 0; p < Tile::kPanels; ++p) {
      const long position = part.begin + p * Tile::kLanes;
      if (position >= queries || (causal && first >= position + Tile::kLanes)) continue;
      Tile::multiply(key_rows, count, own[p], scores);
      if (causal && first + count > position + 1) {
        const Lanes positions = Tile::positions(position);
        for (long r = 0; r < count; ++r) {
          const Lanes score = Tile::load(scores + r * Tile::kLanes);
          Tile::store(positions >= Lanes(C(first + r)) ? score : Lanes(kNothing<C>),
                      scores + r * Tile::kLanes);
        }
      }
      Lanes most = greatest[p];
      for (long r = 0; r < count; ++r) {
        const Lanes score = Tile::load(scores + r * Tile::kLanes);
        most = score > most ? score : most;
      }
      const Lanes shrink = exponential<C, Tile::kLanes>(greatest[p] - most);
      Lanes weight = weights[p] * shrink;
      for (long r = 0; r < count; ++r) {
        const Lanes score = Tile::load(scores + r * Tile::kLanes);
        const Lanes power = exponential<C, Tile::kLanes>(score - most);
        Tile::store(power, scores + r * Tile::kLanes);
        weight += power;
      }
      weights[p] = weight;
      greatest[p] = most;
      Tile::accumulate(value_rows, count, scores, shrink, sums[p]);
    }
  }

  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    const long position = part.begin + p * Tile::kLanes;
    sums[p].scale(keys == 0 ? Lanes(C(1)) : C(1) / weights[p]);
    sums[p].write(y + start, row, position, queries);
    C logarithms[Tile::kLanes];
    Tile::store(weights[p], logarithms);
    for (int lane = 0; lane < Tile::kLanes; ++lane) logarithms[lane] = sycl::log(logarithms[lane]);
    Tile::write_numbers(greatest[p] + Tile::load(logarithms),
                        log_sums + (part.batch * heads + part.head) * queries, position, queries);
  }
}

// With the weights P = exp(S - log_sums) of the scores S, and D the sum over features of y dy:
// dS = P (dy value^T - D), dquery = scale dS key.
template <bool is_group, typename T>
inline void attention_query_gradient(const T* query, const T* key, const T* value, const T* y,
                                     const T* dy, const onexpu::wide<T>* log_sums, T* dquery,
                                     onexpu::wide<T>* deltas, onexpu::wide<T> scale, bool causal,
                                     long queries, long keys, long heads, long sharing) {
  using Tile = Tile<is_group, T>;
  using C = typename Tile::C;
  using Lanes = typename Tile::Lanes;
  const Part<is_group, T> part(queries, heads);
  if (part.begin >= queries) return;
  const long row = heads * kFeatures, key_row = row / sharing;
  const long key_start = part.batch * keys * key_row + part.head / sharing * kFeatures;
  const long start = part.batch * queries * row + part.head * kFeatures;
  const long numbers = (part.batch * heads + part.head) * queries;

  typename Tile::Panel own[Tile::kPanels], slopes[Tile::kPanels], sums[Tile::kPanels];
  Lanes logarithms[Tile::kPanels], delta[Tile::kPanels];
  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    const long position = part.begin + p * Tile::kLanes;
    slopes[p].read(dy + start, row, position, queries);
    own[p].read(y + start, row, position, queries);
    delta[p] = Lanes(C(0));
    #pragma unroll 1
    for (int i = 0; i < kFeatures; ++i)
      delta[p] += Tile::load(own[p].numbers + i * Tile::kLanes) *
                  Tile::load(slopes[p].numbers + i * Tile::kLanes);
    Tile::write_numbers(delta[p], deltas + numbers, position, queries);
    own[p].read(query + start, row, position, queries);
    own[p].scale(Lanes(scale));
    logarithms[p] = Tile::read_numbers(log_sums + numbers, position, queries);
    sums[p].clear();
  }

  typename Tile::Rows key_rows, value_rows;
  C scores[Tile::kBlock * Tile::kLanes], score_slopes[Tile::kBlock * Tile::kLanes];
  const long visible = causal ? sycl::min(keys, part.span_end) : keys;
  for (long first = 0; first < visible; first += Tile::kBlock) {
    const long count = sycl::min(long(Tile::kBlock), visible - first);
    key_rows.read(key + key_start + first * key_row, key_row, count);
    value_rows.read(value + key_start + first * key_row, key_row, count);
    #pragma unroll 1
    for (int p = 0; p < Tile::kPanels; ++p) {
      const long position = part.begin + p * Tile::kLanes;
      if (position >= queries || (causal && first >= position + Tile::kLanes)) continue;
      Tile::multiply(key_rows, count, own[p], scores);
      Tile::multiply(value_rows, count, slopes[p], score_slopes);
      const bool hides = causal && first + count > position + 1;
      const Lanes positions = Tile::positions(position);
      for (long r = 0; r < count; ++r) {
        const Lanes score = Tile::load(scores + r * Tile::kLanes);
        Lanes weight = exponential<C, Tile::kLanes>(score - logarithms[p]);
        if (hides) weight = positions >= Lanes(C(first + r)) ? weight : Lanes(C(0));
        Tile::store(weight * (Tile::load(score_slopes + r * Tile::kLanes) - delta[p]),
                    scores + r * Tile::kLanes);
      }
      Tile::accumulate(key_rows, count, scores, Lanes(C(1)), sums[p]);
    }
  }
  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    sums[p].scale(Lanes(scale));
    sums[p].write(dquery + start, row, part.begin + p * Tile::kLanes, queries);
  }
}

// dvalue = P^T dy and dkey = scale dS^T query, over all the heads of queries that share the keys.
template <bool is_group, typename T>
inline void attention_key_gradient(const T* query, const T* key, const T* value, const T* dy,
                                   const onexpu::wide<T>* log_sums, const onexpu::wide<T>* deltas,
                                   T* dkey, T* dvalue, onexpu::wide<T> scale, bool causal,
                                   long queries, long keys, long heads, long sharing) {
  using Tile = Tile<is_group, T>;
  using C = typename Tile::C;
  using Lanes = typename Tile::Lanes;
  const Part<is_group, T> part(keys, heads / sharing);
  if (part.begin >= keys) return;
  const long row = heads * kFeatures, key_row = row / sharing;
  const long key_start = part.batch * keys * key_row + part.head * kFeatures;

  typename Tile::Panel own_keys[Tile::kPanels], own_values[Tile::kPanels];
  typename Tile::Panel key_sums[Tile::kPanels], value_sums[Tile::kPanels];
  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    const long position = part.begin + p * Tile::kLanes;
    own_keys[p].read(key + key_start, key_row, position, keys);
    own_keys[p].scale(Lanes(scale));
    own_values[p].read(value + key_start, key_row, position, keys);
    key_sums[p].clear();
    value_sums[p].clear();
  }

  typename Tile::Rows query_rows, slope_rows;
  C scores[Tile::kBlock * Tile::kLanes], score_slopes[Tile::kBlock * Tile::kLanes];
  const long seen_from =
      causal ? part.span_end - (is_group ? Team<is_group>().width : Tile::kOwn) : 0;
  for (long head = part.head * sharing; head < (part.head + 1) * sharing; ++head) {
    const long start = part.batch * queries * row + head * kFeatures;
    const long numbers = (part.batch * heads + head) * queries;
    for (long first = seen_from; first < queries; first += Tile::kBlock) {
      const long count = sycl::min(long(Tile::kBlock), queries - first);
      query_rows.read(query + start + first * row, row, count);
      slope_rows.read(dy + start + first * row, row, count);
      #pragma unroll 1
      for (int p = 0; p < Tile::kPanels; ++p) {
        const long position = part.begin + p * Tile::kLanes;
        if (position >= keys || (causal && position >= first + count)) continue;
        Tile::multiply(query_rows, count, own_keys[p], scores);
        Tile::multiply(slope_rows, count, own_values[p], score_slopes);
        const bool hides = causal && position + Tile::kLanes > first + 1;
        const Lanes positions = Tile::positions(position);
        for (long r = 0; r < count; ++r) {
          const Lanes score = Tile::load(scores + r * Tile::kLanes);
          Lanes weight = exponential<C, Tile::kLanes>(score - Lanes(log_sums[numbers + first + r]));
          if (hides) weight = positions <= Lanes(C(first + r)) ? weight : Lanes(C(0));
          Tile::store(weight, scores + r * Tile::kLanes);
          Tile::store(weight * (Tile::load(score_slopes + r * Tile::kLanes) -
                                Lanes(deltas[numbers + first + r])),
                      score_slopes + r * Tile::kLanes);
        }
        Tile::accumulate(slope_rows, count, scores, Lanes(C(1)), value_sums[p]);
        Tile::accumulate(query_rows, count, score_slopes, Lanes(C(1)), key_sums[p]);
      }
    }
  }
  #pragma unroll 1
  for (int p = 0; p < Tile::kPanels; ++p) {
    const long position = part.begin + p * Tile::kLanes;
    key_sums[p].scale(Lanes(scale));
    key_sums[p].write(dkey + key_start, key_row, position, keys);
    value_sums[p].write(dvalue + key_start, key_row, position, keys);
  }
}
"""

_ENTRY_POINTS = """
template <typename T>
ONEXPU_KERNEL void attention_{which}(const T* query, const T* key, const T* value, T* y,
                                     onexpu::wide<T>* log_sums, float scale, float scale_rest,
                                     bool causal, long queries, long keys, long heads,
                                     long sharing) {{
  attention<{is_group}>(query, key, value, y, log_sums, onexpu::wide<T>(scale) + scale_rest, causal,
                        queries, keys, heads, sharing);
}}
template <typename T>
ONEXPU_KERNEL void attention_query_gradient_{which}(
    const T* query, const T* key, const T* value, const T* y, const T* dy,
    const onexpu::wide<T>* log_sums, T* dquery, onexpu::wide<T>* deltas, float scale,
    float scale_rest, bool causal, long queries, long keys, long heads, long sharing) {{
  attention_query_gradient<{is_group}>(query, key, value, y, dy, log_sums, dquery, deltas,
                                       onexpu::wide<T>(scale) + scale_rest, causal, queries, keys,
                                       heads, sharing);
}}
template <typename T>
ONEXPU_KERNEL void attention_key_gradient_{which}(
    const T* query, const T* key, const T* value, const T* dy, const onexpu::wide<T>* log_sums,
    const onexpu::wide<T>* deltas, T* dkey, T* dvalue, float scale, float scale_rest, bool causal,
    long queries, long keys, long heads, long sharing) {{
  attention_key_gradient<{is_group}>(query, key, value, dy, log_sums, deltas, dkey, dvalue,
                                     onexpu::wide<T>(scale) + scale_rest, causal, queries, keys,
                                     heads, sharing);
}}
"""


def source(features: int) -> str:
    """Returns the text for heads of so many features, with entry points for `_team_kernel`."""
    return (
        f"#include <limits>\nconstexpr int kFeatures = {features};"
        + _SOURCE
        + _ENTRY_POINTS.format(which="serial", is_group="false")
        + _ENTRY_POINTS.format(which="cooperative", is_group="true")
    )
