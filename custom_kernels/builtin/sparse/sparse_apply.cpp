// Optimisers' updates of the rows that indices pick. Kernel source: built by sycl_kernels, see
// BUILD.
//
// The indices are sorted, stably: those of one row are a run, whose updates one work-item makes, in
// their order. So nothing is atomic, and a row with several gradients ends as it would on a host.

struct SparseApplySizes {
  std::int64_t rows, columns, updates;
  std::int64_t chunk;             // updates that a work-item looks at
  std::int64_t piece, pieces;     // columns that it takes, and how many such a row has
  std::int32_t indices_are_wide;  // s64, else s32
  std::int32_t flag;
};

namespace {

// A rule: the scalars that it has, in the op's order, and what a gradient does to a variable and
// its kSlots slots. A test of their number in the loop would cost a CPU its vectors, since the
// driver does not unswitch loops.

// J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods, 2011.
template <typename C>
struct Adagrad {
  static constexpr int kSlots = 1;
  C rate;
  std::int32_t updates_slots;
  Adagrad(const C* scalars, std::int32_t flag) : rate(scalars[0]), updates_slots(flag) {}
  void apply(C g, C& v, C& sum, C&) const {
    if (updates_slots) sum += g * g;
    v -= rate * g / sycl::sqrt(sum);
  }
};

template <typename C>
struct AdagradV2 {
  static constexpr int kSlots = 1;
  C rate, epsilon;
  std::int32_t updates_slots;
  AdagradV2(const C* scalars, std::int32_t flag)
      : rate(scalars[0]), epsilon(scalars[1]), updates_slots(flag) {}
  void apply(C g, C& v, C& sum, C&) const {
    if (updates_slots) sum += g * g;
    v -= rate * g / (sycl::sqrt(sum) + epsilon);
  }
};

// J. Duchi, Y. Singer, Efficient online and batch learning using forward backward splitting, 2009,
// with Adagrad's rate.
template <typename C>
struct ProximalAdagrad {
  static constexpr int kSlots = 1;
  C rate, l1, l2;
  ProximalAdagrad(const C* scalars, std::int32_t)
      : rate(scalars[0]), l1(scalars[1]), l2(scalars[2]) {}
  void apply(C g, C& v, C& sum, C&) const {
    sum += g * g;
    const C step = rate / sycl::sqrt(sum);
    C next = v - g * step;
    if (l1 > C(0)) {
      const C sign = C((next > C(0)) - (next < C(0)));
      const C shrunk = sycl::fabs(next) - step * l1;
      next = sign * (shrunk < C(0) ? C(0) : shrunk);  // unlike fmax, this keeps NaN
    }
    v = next / (C(1) + l2 * step);
  }
};

// M. D. Zeiler, ADADELTA: an adaptive learning rate method, 2012.
template <typename C>
struct Adadelta {
  static constexpr int kSlots = 2;
  C rate, rho, epsilon;
  Adadelta(const C* scalars, std::int32_t)
      : rate(scalars[0]), rho(scalars[1]), epsilon(scalars[2]) {}
  void apply(C g, C& v, C& sum, C& sum_of_updates) const {
    sum = sum * rho + g * g * (C(1) - rho);
    const C update = sycl::sqrt(sum_of_updates + epsilon) / sycl::sqrt(sum + epsilon) * g;
    v -= update * rate;
    sum_of_updates = sum_of_updates * rho + update * update * (C(1) - rho);
  }
};

// H. B. McMahan et al., Ad click prediction: a view from the trenches, 2013.
template <typename C, bool shrinks>
struct FtrlRule {
  static constexpr int kSlots = 2;
  C rate, l1, l2, shrinkage, power;
  std::int32_t scales_linear;  // `linear` is kept multiplied by the rate
  FtrlRule(const C* scalars, std::int32_t flag)
      : rate(scalars[0]),
        l1(scalars[1]),
        l2(scalars[2]),
        shrinkage(shrinks ? scalars[3] : C(0)),
        power(scalars[shrinks ? 4 : 3]),
        scales_linear(flag) {}
  C raised(C sum) const { return power == C(-0.5) ? sycl::sqrt(sum) : sycl::pow(sum, -power); }
  void apply(C g, C& v, C& sum, C& linear) const {
    const C shrunk = shrinks ? g + C(2) * shrinkage * v : g;
    const C next = sum + g * g;
    const C difference = raised(next) - raised(sum);
    linear += scales_linear ? shrunk * rate - difference * v : shrunk - difference / rate * v;
    const C bound = scales_linear ? l1 * rate : l1;
    const C kept = sycl::fmax(sycl::fmin(linear, bound), -bound) - linear;
    v = kept / (scales_linear ? raised(next) + C(2) * l2 * rate : raised(next) / rate + C(2) * l2);
    sum = next;
  }
};
template <typename C>
using Ftrl = FtrlRule<C, false>;
template <typename C>
using FtrlV2 = FtrlRule<C, true>;

// I. Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.
template <typename C>
struct KerasMomentum {
  static constexpr int kSlots = 1;
  C rate, momentum;
  std::int32_t is_nesterov;
  KerasMomentum(const C* scalars, std::int32_t flag)
      : rate(scalars[0]), momentum(scalars[1]), is_nesterov(flag) {}
  void apply(C g, C& v, C& moved, C&) const {
    moved = moved * momentum - g * rate;
    v += is_nesterov ? moved * momentum - g * rate : moved;
  }
};

}  // namespace

// What is no row comes after all rows.
ONEXPU_KERNEL void sparse_apply_rows(const void* indices, std::uint64_t* numbers,
                                     SparseApplySizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t index = sizes.indices_are_wide ? static_cast<const std::int64_t*>(indices)[i]
                                                    : static_cast<const std::int32_t*>(indices)[i];
  numbers[i] = std::uint64_t(index >= 0 && index < sizes.rows ? index : sizes.rows);
}

// A work-item per chunk of sorted updates and piece of a row. slot_1 is null if the rule has one
// slot.
template <typename T, template <typename> class Rule>
ONEXPU_KERNEL void sparse_apply(T* variable, T* slot_0, T* slot_1, const T* gradients,
                                const std::uint64_t* numbers, const std::uint32_t* places,
                                const T* s0, const T* s1, const T* s2, const T* s3, const T* s4,
                                SparseApplySizes sizes) {
  using C = onexpu::wide<T>;
  const T* const given[] = {s0, s1, s2, s3, s4};
  C scalars[5];
  for (int i = 0; i < 5; ++i) scalars[i] = given[i] == nullptr ? C(0) : C(*given[i]);
  const Rule<C> rule(scalars, sizes.flag);
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t first_column = id % sizes.pieces * sizes.piece;
  const std::int64_t last_column = sycl::min(first_column + sizes.piece, sizes.columns);
  const std::int64_t first = id / sizes.pieces * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.updates);
  for (std::int64_t begin = first; begin < last; ++begin) {
    const std::uint64_t row = numbers[begin];
    if (row == std::uint64_t(sizes.rows) || (begin > 0 && numbers[begin - 1] == row)) continue;
    for (std::int64_t i = begin; i < sizes.updates && numbers[i] == row; ++i) {
      const T* const gradient = gradients + places[i] * sizes.columns;
      for (std::int64_t column = first_column; column < last_column; ++column) {
        const std::int64_t place = row * sizes.columns + column;
        C v = C(variable[place]), a = C(slot_0[place]);
        C b = C(0);
        if constexpr (Rule<C>::kSlots == 2) b = C(slot_1[place]);
        rule.apply(C(gradient[column]), v, a, b);
        variable[place] = T(v);
        slot_0[place] = T(a);
        if constexpr (Rule<C>::kSlots == 2) slot_1[place] = T(b);
      }
    }
  }
}
