#include "pjrt_core/compiler/frontend/compile_options.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {
namespace {

using Field = google::protobuf::FieldDescriptor;
using Value = xla::OptionOverrideProto;

std::string Text(const Value& value) {
  switch (value.value_case()) {
    case Value::kStringField:
      return value.string_field();
    case Value::kBoolField:
      return value.bool_field() ? "true" : "false";
    case Value::kIntField:
      return absl::StrCat(value.int_field());
    case Value::kDoubleField:
      return absl::StrCat(value.double_field());
    default:
      return "";
  }
}

absl::Status Invalid(absl::string_view name, absl::string_view text, absl::string_view type) {
  return absl::InvalidArgumentError(absl::StrCat("onexpu: while setting option ", name, ", '", text,
                                                 "' is not a valid ", type, " value."));
}

// Numbers and switches may also be spelled out, as on a command line.
absl::Status SetField(absl::string_view name, const Value& value, const Field& field,
                      xla::DebugOptions& options) {
  const google::protobuf::Reflection& reflection = *options.GetReflection();
  const std::string text = Text(value);
  bool flag = false;
  int64_t integer = 0;
  double number = 0;
  if (field.is_repeated()) {
    if (field.cpp_type() != Field::CPPTYPE_STRING) return Invalid(name, text, "list");
    reflection.AddString(&options, &field, text);
    return absl::OkStatus();
  }
  switch (field.cpp_type()) {
    case Field::CPPTYPE_BOOL:
      if (!absl::SimpleAtob(text, &flag)) return Invalid(name, text, "bool");
      reflection.SetBool(&options, &field, flag);
      return absl::OkStatus();
    case Field::CPPTYPE_INT32:
      if (!absl::SimpleAtoi(text, &integer) || integer != static_cast<int32_t>(integer)) {
        return Invalid(name, text, "int32");
      }
      reflection.SetInt32(&options, &field, static_cast<int32_t>(integer));
      return absl::OkStatus();
    case Field::CPPTYPE_INT64:
      if (!absl::SimpleAtoi(text, &integer)) return Invalid(name, text, "int64");
      reflection.SetInt64(&options, &field, integer);
      return absl::OkStatus();
    case Field::CPPTYPE_FLOAT:
    case Field::CPPTYPE_DOUBLE:
      if (!absl::SimpleAtod(text, &number)) return Invalid(name, text, "float");
      if (field.cpp_type() == Field::CPPTYPE_FLOAT) {
        reflection.SetFloat(&options, &field, static_cast<float>(number));
      } else {
        reflection.SetDouble(&options, &field, number);
      }
      return absl::OkStatus();
    case Field::CPPTYPE_STRING:
      reflection.SetString(&options, &field, text);
      return absl::OkStatus();
    case Field::CPPTYPE_ENUM: {
      const google::protobuf::EnumValueDescriptor* entry =
          absl::SimpleAtoi(text, &integer)
              ? field.enum_type()->FindValueByNumber(static_cast<int>(integer))
              : field.enum_type()->FindValueByName(text);
      if (entry == nullptr) return Invalid(name, text, std::string(field.enum_type()->name()));
      reflection.SetEnum(&options, &field, entry);
      return absl::OkStatus();
    }
    default:
      return Invalid(name, text, "scalar");
  }
}

}  // namespace

absl::StatusOr<xla::CompileOptionsProto> ParseCompileOptions(absl::string_view bytes) {
  xla::CompileOptionsProto options;
  if (!options.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "onexpu: the compile options do not parse as xla.CompileOptionsProto");
  }
  for (const auto& [name, value] : options.env_option_overrides()) {
    const Field* field = xla::DebugOptions::descriptor()->FindFieldByName(name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: No such compile option: '", name, "'"));
    }
    xla::DebugOptions& debug = *options.mutable_executable_build_options()->mutable_debug_options();
    ONEXPU_RETURN_IF_ERROR(SetField(name, value, *field, debug));
  }
  return options;
}

}  // namespace onexpu::compiler
