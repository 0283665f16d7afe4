// FarmHash's 64-bit fingerprint (farmhashna::Hash64, Pike and Alakuijala, 2014) of integers as
// decimal text, modulo a number of buckets. Kernel source: built by sycl_kernels, see BUILD.
//
// An integer of 64 bits has 20 characters at most, so that two of the hash's four cases occur.

namespace {

constexpr std::uint64_t kPrime0 = 0xc3a5c85c97cb3127;
constexpr std::uint64_t kPrime1 = 0xb492b66fbe98f273;
constexpr std::uint64_t kPrime2 = 0x9ae16a3b2f90404f;
constexpr int kMaxCharacters = 20;

// The text's last `length` bytes of `bytes`.
struct Text {
  std::uint8_t bytes[kMaxCharacters];
  int length;

  std::uint64_t at(int i) const { return bytes[kMaxCharacters - length + i]; }
  // `size` bytes from the i-th on, little-endian.
  std::uint64_t word(int i, int size) const {
    std::uint64_t value = 0;
    for (int j = 0; j < size; ++j) value |= at(i + j) << (8 * j);
    return value;
  }
};

template <typename T>
Text decimal(T value) {
  Text text;
  text.length = 0;
  const bool is_negative = value < T(0);
  std::uint64_t rest = is_negative ? 0 - std::uint64_t(std::int64_t(value)) : std::uint64_t(value);
  const auto add = [&](std::uint8_t character) {
    text.bytes[kMaxCharacters - ++text.length] = character;
  };
  do {
    add(std::uint8_t('0' + rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (is_negative) add('-');
  return text;
}

inline std::uint64_t rotate(std::uint64_t value, int bits) {
  return value >> bits | value << (64 - bits);
}
inline std::uint64_t mix(std::uint64_t value) { return value ^ value >> 47; }
inline std::uint64_t join(std::uint64_t u, std::uint64_t v, std::uint64_t factor) {
  const std::uint64_t a = mix((u ^ v) * factor);
  return mix((v ^ a) * factor) * factor;
}

inline std::uint64_t fingerprint(const Text& text) {
  const int length = text.length;
  const std::uint64_t factor = kPrime2 + 2 * std::uint64_t(length);
  if (length > 16) {
    const std::uint64_t a = text.word(0, 8) * kPrime1, b = text.word(8, 8);
    const std::uint64_t c = text.word(length - 8, 8) * factor;
    const std::uint64_t d = text.word(length - 16, 8) * kPrime2;
    return join(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + kPrime2, 18) + c, factor);
  }
  if (length >= 8) {
    const std::uint64_t a = text.word(0, 8) + kPrime2, b = text.word(length - 8, 8);
    return join(rotate(b, 37) * factor + a, (rotate(a, 25) + b) * factor, factor);
  }
  if (length >= 4) {
    return join(std::uint64_t(length) + (text.word(0, 4) << 3), text.word(length - 4, 4), factor);
  }
  const std::uint64_t y = text.at(0) + (text.at(length >> 1) << 8);
  const std::uint64_t z = std::uint64_t(length) + (text.at(length - 1) << 2);
  return mix((y & 0xffffffff) * kPrime2 ^ (z & 0xffffffff) * kPrime0) * kPrime2;
}

}  // namespace

template <typename T>
ONEXPU_KERNEL void hash_bucket(const T* values, std::int64_t* buckets, std::int64_t count) {
  const std::size_t i = onexpu::global_id();
  buckets[i] = std::int64_t(fingerprint(decimal(values[i])) % std::uint64_t(count));
}
