// DLPack's binary interface: what its capsules point to. From the specification, version 1.1.
#ifndef ONEXPU_NATIVE_DLPACK_ABI_H_
#define ONEXPU_NATIVE_DLPACK_ABI_H_

#include <cstdint>

namespace onexpu::native::dlpack {

inline constexpr uint32_t kMajorVersion = 1;
inline constexpr uint32_t kMinorVersion = 1;

inline constexpr int32_t kOneApiDevice = 14;

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E3M4 = 7,
  kFloat8E4M3 = 8,
  kFloat8E4M3B11FNUZ = 9,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
};

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

// What a capsule named "dltensor" holds.
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);  // may be null
};

inline constexpr uint64_t kReadOnly = 1;

// What a capsule named "dltensor_versioned" holds.
struct VersionedTensor {
  uint32_t major;
  uint32_t minor;
  void* manager;
  void (*deleter)(VersionedTensor*);  // may be null
  uint64_t flags;
  Tensor tensor;
};

}  // namespace onexpu::native::dlpack

#endif  // ONEXPU_NATIVE_DLPACK_ABI_H_
