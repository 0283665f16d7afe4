#include "custom_kernels/builtin/support/kernel_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "custom_kernels/builtin/support/schedule.h"

namespace onexpu {
namespace {

using ::xla::ffi::DataType;

struct TypeName {
  DataType type;
  const char* name;
};

constexpr TypeName kTypes[] = {
    {DataType::PRED, "bool"},   {DataType::U8, "uint8"},      {DataType::U16, "uint16"},
    {DataType::U32, "uint32"},  {DataType::U64, "uint64"},    {DataType::S8, "int8"},
    {DataType::S16, "int16"},   {DataType::S32, "int32"},     {DataType::S64, "int64"},
    {DataType::F16, "float16"}, {DataType::BF16, "bfloat16"}, {DataType::F32, "float32"},
    {DataType::F64, "float64"}, {DataType::C64, "complex64"}, {DataType::C128, "complex128"},
};

}  // namespace

absl::string_view DataTypeName(DataType type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) return entry.name;
  }
  return "";
}

std::unique_ptr<SpirvModule> MakeModule(absl::Span<const EmbeddedKernel> kernels,
                                        absl::string_view label) {
  for (const EmbeddedKernel& kernel : kernels) {
    if (label != kernel.name) continue;
    return std::make_unique<SpirvModule>(absl::MakeConstSpan(kernel.spirv, kernel.spirv_size),
                                         kernel.entry_point);
  }
  return nullptr;
}

KernelTable::KernelTable(absl::Span<const EmbeddedKernel> kernels, absl::string_view prefix) {
  for (const TypeName& entry : kTypes) {
    modules_[static_cast<size_t>(entry.type)] =
        MakeModule(kernels, absl::StrCat(prefix, "_", entry.name));
  }
}

std::vector<std::string> KernelTable::TypeNames() const {
  std::vector<std::string> names;
  for (const TypeName& entry : kTypes) {
    if (Find(entry.type) != nullptr) names.emplace_back(entry.name);
  }
  return names;
}

SizedKernelTable::SizedKernelTable(absl::Span<const EmbeddedKernel> kernels,
                                   absl::string_view prefix) {
  for (const size_t bytes : {1, 2, 4, 8, 16})
    modules_[bytes] = MakeModule(kernels, absl::StrCat(prefix, "_", bytes));
}

std::string DescribeBuffer(const ::xla::ffi::AnyBuffer& buffer) {
  const auto dimensions = buffer.dimensions();
  return absl::StrCat(DataTypeName(buffer.element_type()), "[",
                      absl::StrJoin(dimensions.begin(), dimensions.end(), ","), "]");
}

size_t ReductionGroupSize(const sycl::queue& queue) { return HasCpuSchedules(queue) ? 1 : 256; }

}  // namespace onexpu
