#include "tf_plugin/xla_backend/type_rules.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;

// The attributes that are the types of an operand and of a result, one real and one complex.
struct PrecisionRule {
  const char* op;
  const char* operand;
  const char* result;
  const char* otherwise;
};
constexpr char kForward[] = "Wrong types for forward real FFT";
constexpr char kBackward[] = "Wrong types for backward real FFT";
constexpr PrecisionRule kPrecisions[] = {
    {"ComplexAbs", "T", "Tout", "Signature mismatch"}, {"IRFFT", "Tcomplex", "Treal", kBackward},
    {"IRFFT2D", "Tcomplex", "Treal", kBackward},       {"IRFFT3D", "Tcomplex", "Treal", kBackward},
    {"IRFFTND", "Tcomplex", "Treal", kBackward},       {"RFFT", "Treal", "Tcomplex", kForward},
    {"RFFT2D", "Treal", "Tcomplex", kForward},         {"RFFT3D", "Treal", "Tcomplex", kForward},
    {"RFFTND", "Treal", "Tcomplex", kForward},
};

// What is left to the CPU.
struct Unread {
  const char* op;
  const char* attribute;
  DataType type;
};
constexpr Unread kUnread[] = {
    {"Range", "Tidx", tensorflow::DT_BFLOAT16},
    {"Range", "Tidx", tensorflow::DT_HALF},
    {"SplitV", "Tlen", tensorflow::DT_INT8},
};

}  // namespace

absl::Status CheckTypeRules(absl::string_view op, const tensorflow::AttrSlice& attributes) {
  for (const PrecisionRule& rule : kPrecisions) {
    if (op != rule.op) continue;
    DataType operand, result;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attributes, rule.operand, &operand));
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attributes, rule.result, &result));
    const auto is_double = [](DataType type) {
      return type == tensorflow::DT_DOUBLE || type == tensorflow::DT_COMPLEX128;
    };
    if (is_double(operand) == is_double(result)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(rule.otherwise,
                                                   ": in=", tensorflow::DataTypeString(operand),
                                                   " out=", tensorflow::DataTypeString(result)));
  }
  return absl::OkStatus();
}

bool IsUnread(absl::string_view op, absl::string_view attribute, DataType type) {
  for (const Unread& unread : kUnread) {
    if (op == unread.op && attribute == unread.attribute && type == unread.type) return true;
  }
  return false;
}

}  // namespace onexpu::tf_plugin
