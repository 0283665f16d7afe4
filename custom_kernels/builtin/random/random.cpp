// Random numbers from Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// 2011), in the order in which TensorFlow's kernels give them: uniform, normal, truncated normal,
// integers, gamma and binomial; and normal numbers between bounds, in an order of our own. Kernel
// source: built by sycl_kernels, see BUILD.
//
// A work-item makes the elements that one block of four words gives: four, or two of 64 bits.

struct RandomState {
  std::uint32_t counter[4];
  std::uint32_t key[2];
  std::int64_t elements;
  std::int64_t low;     // of integers
  std::uint64_t range;  // 0: all of the type's
};

// Where the elements of a result find their parameters: by the dimensions of the result, strides in
// each parameter, of 0 where it is the same along a dimension.
struct ParameterPlaces {
  static constexpr int kMaxRank = 8;
  std::int32_t rank;
  std::int64_t dimensions[kMaxRank];
  std::int64_t strides[4][kMaxRank];
};

namespace {

struct Words {
  std::uint32_t word[4];
};

// The generator `blocks` blocks further.
inline RandomState skip(RandomState state, std::uint64_t blocks) {
  const std::uint64_t low = std::uint64_t(state.counter[1]) << 32 | state.counter[0];
  const std::uint64_t sum = low + blocks;
  state.counter[0] = std::uint32_t(sum);
  state.counter[1] = std::uint32_t(sum >> 32);
  if (sum < low && ++state.counter[2] == 0) ++state.counter[3];
  return state;
}

// The state at the stream that `key` and `counter` name, unless they are null.
inline RandomState at(RandomState state, const std::uint64_t* key, const std::uint64_t* counter) {
  if (key == nullptr) return state;
  for (int i = 0; i < 2; ++i) {
    state.key[i] = std::uint32_t(key[0] >> (32 * i));
    state.counter[i] = std::uint32_t(counter[0] >> (32 * i));
    state.counter[2 + i] = std::uint32_t(counter[1] >> (32 * i));
  }
  return state;
}

inline Words block(const RandomState& state) {
  std::uint32_t c[4] = {state.counter[0], state.counter[1], state.counter[2], state.counter[3]};
  std::uint32_t k0 = state.key[0], k1 = state.key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t(0xD2511F53u) * c[0];
    const std::uint64_t b = std::uint64_t(0xCD9E8D57u) * c[2];
    const std::uint32_t c0 = std::uint32_t(b >> 32) ^ c[1] ^ k0;
    const std::uint32_t c2 = std::uint32_t(a >> 32) ^ c[3] ^ k1;
    c[0] = c0;
    c[1] = std::uint32_t(b);
    c[2] = c2;
    c[3] = std::uint32_t(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// In [0, 1), from the last bits: a number in [1, 2) without its one.
inline float unit_float(std::uint32_t bits) {
  return sycl::bit_cast<float>(0x3f800000u | (bits & 0x7fffffu)) - 1.0f;
}
inline double unit_double(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t mantissa = std::uint64_t(high & 0xfffffu) << 32 | low;
  return sycl::bit_cast<double>(0x3ff0000000000000u | mantissa) - 1.0;
}

// How a type's elements come out of a block.
template <typename T>
struct Numbers {  // float
  static constexpr int kCount = 4;
  using Wide = float;
  static T uniform(const Words& words, int i) { return unit_float(words.word[i]); }
};
template <>
struct Numbers<onexpu::half> {
  static constexpr int kCount = 4;
  using Wide = float;
  static onexpu::half uniform(const Words& words, int i) {
    const auto bits = std::uint16_t(0x3c00u | (words.word[i] & 0x3ffu));
    return sycl::bit_cast<onexpu::half>(bits) - onexpu::half(1.0f);
  }
};
template <>
struct Numbers<onexpu::bfloat16> {
  static constexpr int kCount = 4;
  using Wide = float;
  static onexpu::bfloat16 uniform(const Words& words, int i) {
    const std::uint32_t bits = 0x3f80u | (words.word[i] & 0x7fu);
    return onexpu::bfloat16(sycl::bit_cast<float>(bits << 16) - 1.0f);
  }
};
template <>
struct Numbers<double> {
  static constexpr int kCount = 2;
  using Wide = double;
  static double uniform(const Words& words, int i) {
    return unit_double(words.word[2 * i], words.word[2 * i + 1]);
  }
};

// Two normal numbers (Box and Muller 1958).
struct FloatPair {
  float first, second;
};
struct DoublePair {
  double first, second;
};
inline FloatPair normal_pair(std::uint32_t x0, std::uint32_t x1) {
  const float u = sycl::fmax(unit_float(x0), 1.0e-7f);
  // Two pi in two parts: TensorFlow multiplies in double precision, which not every device has.
  const float turn = unit_float(x1);
  const float angle = sycl::fma(turn, 6.2831855f, turn * -1.7484556e-7f);
  const float radius = sycl::sqrt(-2.0f * sycl::log(u));
  return {sycl::sin(angle) * radius, sycl::cos(angle) * radius};
}
inline DoublePair normal_pair(std::uint32_t x0, std::uint32_t x1, std::uint32_t x2,
                              std::uint32_t x3) {
  const double u = sycl::fmax(unit_double(x0, x1), 1.0e-7);
  const double angle = 6.283185307179586 * unit_double(x2, x3);
  const double radius = sycl::sqrt(-2.0 * sycl::log(u));
  return {sycl::sin(angle) * radius, sycl::cos(angle) * radius};
}

}  // namespace

template <typename T>
ONEXPU_KERNEL void random_uniform(const std::uint64_t* key, const std::uint64_t* counter, T* result,
                                  RandomState state) {
  state = at(state, key, counter);
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const Words words = block(skip(state, std::uint64_t(group)));
  const std::int64_t first = group * Numbers<T>::kCount;
  for (int i = 0; i < Numbers<T>::kCount && first + i < state.elements; ++i) {
    result[first + i] = Numbers<T>::uniform(words, i);
  }
}

template <typename T>
ONEXPU_KERNEL void random_normal(const std::uint64_t* key, const std::uint64_t* counter, T* result,
                                 RandomState state) {
  state = at(state, key, counter);
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const Words words = block(skip(state, std::uint64_t(group)));
  const std::int64_t first = group * Numbers<T>::kCount;
  typename Numbers<T>::Wide numbers[Numbers<T>::kCount];
  if constexpr (Numbers<T>::kCount == 2) {
    const DoublePair pair = normal_pair(words.word[0], words.word[1], words.word[2], words.word[3]);
    numbers[0] = pair.first;
    numbers[1] = pair.second;
  } else {
    for (int i = 0; i < 4; i += 2) {
      const FloatPair pair = normal_pair(words.word[i], words.word[i + 1]);
      numbers[i] = pair.first;
      numbers[i + 1] = pair.second;
    }
  }
  for (int i = 0; i < Numbers<T>::kCount && first + i < state.elements; ++i) {
    result[first + i] = T(numbers[i]);
  }
}

// Normal numbers of which those beyond two are drawn again: 256 words are each element's.
template <typename T>
ONEXPU_KERNEL void random_truncated(const std::uint64_t* key, const std::uint64_t* counter,
                                    T* result, RandomState state) {
  state = at(state, key, counter);
  constexpr int kCount = Numbers<T>::kCount;
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const std::int64_t first = group * kCount;
  RandomState own = skip(state, std::uint64_t(group) * (kCount * 256 / 4));
  int found = 0;
  while (found < kCount) {
    const Words words = block(own);
    own = skip(own, 1);
    if constexpr (kCount == 2) {
      const DoublePair pair =
          normal_pair(words.word[0], words.word[1], words.word[2], words.word[3]);
      for (const double number : {pair.first, pair.second}) {
        if (sycl::fabs(number) >= 2.0 || found >= kCount) continue;
        if (first + found < state.elements) result[first + found] = T(number);
        ++found;
      }
    } else {
      for (int i = 0; i < 4; i += 2) {
        const FloatPair pair = normal_pair(words.word[i], words.word[i + 1]);
        for (const float number : {pair.first, pair.second}) {
          if (sycl::fabs(number) >= 2.0f || found >= kCount) continue;
          if (first + found < state.elements) result[first + found] = T(number);
          ++found;
        }
      }
    }
  }
}

template <typename T>
ONEXPU_KERNEL void random_integers(const std::uint64_t* key, const std::uint64_t* counter,
                                   T* result, RandomState state) {
  state = at(state, key, counter);
  constexpr int kCount = sizeof(T) == 8 ? 2 : 4;
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const Words words = block(skip(state, std::uint64_t(group)));
  const std::int64_t first = group * kCount;
  for (int i = 0; i < kCount && first + i < state.elements; ++i) {
    if constexpr (kCount == 2) {
      const std::uint64_t bits = words.word[2 * i] | std::uint64_t(words.word[2 * i + 1]) << 32;
      result[first + i] =
          T(state.range == 0 ? bits : std::uint64_t(state.low) + bits % state.range);
    } else {
      const std::uint32_t bits = words.word[i], range = std::uint32_t(state.range);
      result[first + i] = T(range == 0 ? bits : std::uint32_t(state.low) + bits % range);
    }
  }
}

namespace {

// The two numbers that a block gives, uniform or normal.
struct TwoUniform {
  static DoublePair of(const Words& words) {
    return {unit_double(words.word[0], words.word[1]), unit_double(words.word[2], words.word[3])};
  }
};
struct TwoNormal {
  static DoublePair of(const Words& words) {
    return normal_pair(words.word[0], words.word[1], words.word[2], words.word[3]);
  }
};

// One of them after the other: the second one first, as TensorFlow takes them.
template <typename Two>
struct DoubleBuffer {
  double first = 0;
  bool has_first = false;
  double next(RandomState& state) {
    has_first = !has_first;
    if (!has_first) return first;
    const DoublePair pair = Two::of(block(state));
    state = skip(state, 1);
    first = pair.first;
    return pair.second;
  }
};

}  // namespace

// Samples of gamma distributions with parameter alpha (G. Marsaglia, W. W. Tsang, A simple method
// for generating gamma variables, 2000), a work-item for each, 256 blocks of the stream for each.
// `key` and `counter` replace the state's unless they are null. Samples are [samples, alphas].
template <typename T>
ONEXPU_KERNEL void random_gamma(const T* alphas, const std::uint64_t* key,
                                const std::uint64_t* counter, T* result, RandomState state,
                                std::int64_t alpha_count) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t samples = state.elements / alpha_count;
  const std::int64_t which = id / samples, place = id % samples * alpha_count + which;
  state = at(state, key, counter);
  state = skip(state, std::uint64_t(id) * 256);
  const double alpha = double(onexpu::wide<T>(alphas[which]));
  DoubleBuffer<TwoUniform> uniform;
  DoubleBuffer<TwoNormal> normal;
  if (alpha == 1.0) {
    result[place] = T(onexpu::wide<T>(-sycl::log1p(-uniform.next(state))));
    return;
  }
  const bool is_small = alpha < 1.0;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / sycl::sqrt(d);
  while (true) {
    const double x = normal.next(state);
    double v = 1 + c * x;
    if (!(v > 0)) {
      if (v == v) continue;
      result[place] = T(onexpu::wide<T>(v));  // of an alpha that is no number
      return;
    }
    v = v * v * v;
    const double u = uniform.next(state);
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        sycl::log(u) < 0.5 * x * x + d * (1 - v + sycl::log(v))) {
      double sample = d * v;
      if (is_small) sample *= sycl::pow(uniform.next(state), 1 / alpha);
      result[place] = T(onexpu::wide<T>(sample));
      return;
    }
  }
}

namespace {

// The error of Stirling's approximation of log(k!).
inline double stirling_error(double k) {
  constexpr double kErrors[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                0.00833056343336287};
  if (k <= 9) return kErrors[int(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Successes of `count` trials, of which few are expected: the number of geometric waits that fit.
inline double binomial_by_waits(double count, double probability, RandomState state) {
  const double log_failure = sycl::log1p(-probability);
  DoubleBuffer<TwoUniform> uniform;
  double successes = 0;
  for (double waited = 0;; ++successes) {
    waited += sycl::ceil(sycl::log(uniform.next(state)) / log_failure);
    if (!(waited <= count)) return successes;
  }
}

// Successes of `count` trials by transformed rejection (W. Hoermann, The generation of binomial
// random variates, 1993).
inline double binomial_by_rejection(double count, double probability, RandomState state) {
  const double deviation = sycl::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double center = count * probability + 0.5;
  const double tight = 0.92 - 4.2 / b;
  const double odds = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = sycl::floor((count + 1) * probability);
  DoubleBuffer<TwoUniform> uniform;
  while (true) {
    const double u = uniform.next(state) - 0.5;
    const double v = uniform.next(state);
    const double distance = 0.5 - sycl::fabs(u);
    const double k = sycl::floor((2 * a / distance + b) * u + center);
    if (distance >= 0.07 && v <= tight) return k;
    if (k < 0 || k > count) continue;
    const double height = sycl::log(v * alpha / (a / (distance * distance) + b));
    const double bound = (mode + 0.5) * sycl::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * sycl::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * sycl::log(odds * (count - k + 1) / (k + 1)) +
                         stirling_error(mode) + stirling_error(count - mode) - stirling_error(k) -
                         stirling_error(count - k);
    if (height <= bound) return k;
  }
}

// As an x86 processor converts what an integer type does not have.
template <typename U>
inline U to_count(double x) {
  if constexpr (std::is_integral_v<U>) {
    constexpr double kEnd = -double(std::numeric_limits<U>::min());
    return x >= -kEnd && x < kEnd ? U(x) : std::numeric_limits<U>::min();
  } else {
    return U(onexpu::wide<U>(x));
  }
}

}  // namespace

// Samples of binomial distributions, a work-item for each: [samples, parameters], counted parameter
// by parameter. Each sample has blocks of the stream of its own: 42 if few successes or failures
// are expected, otherwise 256.
template <typename T, typename U>
ONEXPU_KERNEL void random_binomial(const T* counts, const T* probabilities,
                                   const std::uint64_t* key, const std::uint64_t* counter,
                                   U* result, RandomState state, std::int64_t parameters) {
  using Wide = onexpu::wide<T>;
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t samples = state.elements / parameters;
  const std::int64_t which = id / samples, place = id % samples * parameters + which;
  state = at(state, key, counter);
  const T count = counts[which], probability = probabilities[which];
  const double trials = double(Wide(count));
  if (!(trials > 0) || !(Wide(probability) > 0)) {
    const bool is_zero = trials <= 0 || Wide(probability) <= 0;  // otherwise one is NaN
    result[place] = to_count<U>(is_zero ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (Wide(probability) >= 1) {
    result[place] = to_count<U>(trials);
    return;
  }
  // What happens less often is counted. The products round to the type, as TensorFlow's do.
  const bool is_often = Wide(probability) > Wide(0.5);
  const T rare = is_often ? T(Wide(1) - Wide(probability)) : probability;
  const double share = double(Wide(rare));
  const double found =
      Wide(T(Wide(count) * Wide(rare))) >= 10
          ? binomial_by_rejection(trials, share, skip(state, std::uint64_t(id) * 256))
          : binomial_by_waits(trials, share, skip(state, std::uint64_t(id) * 42));
  result[place] = to_count<U>(is_often ? trials - found : found);
}

// One normal number of mean 0 and deviation 1 between `low` and `high`, of which low is finite: by
// rejection from the normal, the uniform or the exponential distribution, whichever takes most
// (Robert, Simulation of truncated normal variables, 1995), as TensorFlow's kernels choose. NaN if
// none was taken.
template <typename F, int kCount>
F between(RandomState state, F low, F high) {
  constexpr int kMaxTries = 1000;
  const F nan = sycl::nan(std::conditional_t<kCount == 2, std::uint64_t, std::uint32_t>(0));
  const auto uniform = [](const Words& words, int i) -> F {
    if constexpr (kCount == 2) return unit_double(words.word[2 * i], words.word[2 * i + 1]);
    if constexpr (kCount == 4) return unit_float(words.word[i]);
  };
  if ((low < F(-1.3) && high >= 0) || (high > F(1.3) && low <= 0)) {
    for (int tries = 0; tries < kMaxTries; tries += kCount) {
      const Words words = block(state);
      state = skip(state, 1);
      for (int i = 0; i < 4; i += 8 / kCount) {
        F first, second;
        if constexpr (kCount == 2) {
          const DoublePair pair =
              normal_pair(words.word[0], words.word[1], words.word[2], words.word[3]);
          first = pair.first, second = pair.second;
        } else {
          const FloatPair pair = normal_pair(words.word[i], words.word[i + 1]);
          first = pair.first, second = pair.second;
        }
        if (first >= low && first <= high) return first;
        if (second >= low && second <= high) return second;
      }
    }
    return nan;
  }
  const F root = sycl::sqrt(low * low + 4);
  const F rate = (low + root) / 2;
  const bool is_narrow = high - low < sycl::exp(F(0.5) + low * (low - root) / 4) / rate;
  const F most = low < 0 ? F(0) : low * low;  // of -2 log of the density
  for (int tries = 0; tries < kMaxTries; tries += kCount / 2) {
    const Words words = block(state);
    state = skip(state, 1);
    for (int i = 0; i < kCount; i += 2) {
      const F drawn = uniform(words, i);
      const F number = is_narrow ? low + drawn * (high - low) : low - sycl::log(drawn) / rate;
      const F miss = low < rate ? rate - number : low - rate;
      const F density = is_narrow ? (most - number * number) / 2 : -miss * miss / 2;
      if (uniform(words, i + 1) <= sycl::exp(density) && number < high) return number;
    }
  }
  return nan;
}

// Normal numbers between bounds, each with parameters of its own. 1000 blocks are each element's.
// Parameters that make no distribution give NaN, as on TensorFlow's other accelerators.
template <typename T>
ONEXPU_KERNEL void random_between(const T* means, const T* deviations, const T* lows,
                                  const T* highs, T* result, RandomState state,
                                  ParameterPlaces places) {
  using F = typename Numbers<T>::Wide;
  const std::int64_t id = std::int64_t(onexpu::global_id());
  std::int64_t rest = id, place[4] = {0, 0, 0, 0};
  for (int i = places.rank - 1; i >= 0; --i) {
    for (int j = 0; j < 4; ++j) place[j] += rest % places.dimensions[i] * places.strides[j][i];
    rest /= places.dimensions[i];
  }
  const F mean = F(means[place[0]]);
  F deviation = F(deviations[place[1]]), low = F(lows[place[2]]), high = F(highs[place[3]]);
  if (!(deviation > 0 && low < high && (sycl::isfinite(low) || sycl::isfinite(high)))) {
    const F nan =
        sycl::nan(std::conditional_t<Numbers<T>::kCount == 2, std::uint64_t, std::uint32_t>(0));
    result[id] = T(nan);
    return;
  }
  const F least = low, greatest = high;
  // A lower bound that is finite, and no bounds that are both below the mean.
  if (!sycl::isfinite(low) || high < mean) {
    low = greatest;
    high = least;
    deviation = -deviation;
  }
  const F number = between<F, Numbers<T>::kCount>(
      skip(state, std::uint64_t(id) * 1000), (low - mean) / deviation, (high - mean) / deviation);
  const F scaled = number * deviation + mean;
  // Rounding must not take it out of the bounds; NaN stays.
  result[id] = T(scaled < least ? least : scaled > greatest ? greatest : scaled);
}
