// Random numbers from Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// 2011), in the order in which TensorFlow's kernels give them: uniform, normal, truncated normal,
// and integers. Kernel source: built by sycl_kernels, see BUILD.
//
// A work-item makes the elements that one block of four words gives: four, or two of 64 bits.

struct RandomState {
  std::uint32_t counter[4];
  std::uint32_t key[2];
  std::int64_t elements;
  std::int64_t low;  // of integers
  std::uint64_t range;
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
ONEXPU_KERNEL void random_uniform(T* result, RandomState state) {
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const Words words = block(skip(state, std::uint64_t(group)));
  const std::int64_t first = group * Numbers<T>::kCount;
  for (int i = 0; i < Numbers<T>::kCount && first + i < state.elements; ++i) {
    result[first + i] = Numbers<T>::uniform(words, i);
  }
}

template <typename T>
ONEXPU_KERNEL void random_normal(T* result, RandomState state) {
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
ONEXPU_KERNEL void random_truncated(T* result, RandomState state) {
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
ONEXPU_KERNEL void random_integers(T* result, RandomState state) {
  constexpr int kCount = sizeof(T) == 8 ? 2 : 4;
  const std::int64_t group = std::int64_t(onexpu::global_id());
  const Words words = block(skip(state, std::uint64_t(group)));
  const std::int64_t first = group * kCount;
  for (int i = 0; i < kCount && first + i < state.elements; ++i) {
    if constexpr (kCount == 2) {
      const std::uint64_t bits = words.word[2 * i] | std::uint64_t(words.word[2 * i + 1]) << 32;
      result[first + i] = T(std::uint64_t(state.low) + bits % state.range);
    } else {
      result[first + i] = T(std::uint32_t(state.low) + words.word[i] % std::uint32_t(state.range));
    }
  }
}
