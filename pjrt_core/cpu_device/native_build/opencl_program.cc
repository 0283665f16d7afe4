#include "pjrt_core/cpu_device/native_build/opencl_program.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

constexpr char kBuildOptions[] = "";

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

}  // namespace

absl::StatusOr<ClProgram> ProgramFromBinary(cl_context context, cl_device_id device,
                                            absl::Span<const uint8_t> binary) {
  const size_t size = binary.size();
  const unsigned char* bytes = binary.data();
  cl_int status = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &status, &error));
  if (error == CL_SUCCESS) error = status;
  if (error != CL_SUCCESS) {
    return absl::InternalError(absl::StrCat("onexpu: the driver rejects a binary of ", size,
                                            " bytes (OpenCL error ", error, ")"));
  }
  error = clBuildProgram(program.get(), 1, &device, kBuildOptions, nullptr, nullptr);
  if (error != CL_SUCCESS) {
    return absl::InternalError(absl::StrCat("onexpu: a binary of ", size,
                                            " bytes does not build (OpenCL error ", error,
                                            "): ", BuildLog(program.get(), device)));
  }
  return program;
}

absl::StatusOr<ClProgram> ProgramFromSpirv(cl_context context, cl_device_id device,
                                           absl::Span<const uint8_t> spirv) {
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithIL(context, spirv.data(), spirv.size(), &error));
  if (error != CL_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("onexpu: the device rejected the SPIR-V module (OpenCL error ", error, ")"));
  }
  error = clBuildProgram(program.get(), 1, &device, kBuildOptions, nullptr, nullptr);
  if (error != CL_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("onexpu: the SPIR-V module does not build (OpenCL error ", error,
                     "): ", BuildLog(program.get(), device)));
  }
  return program;
}

std::vector<uint8_t> BinaryOf(cl_program program, cl_device_id device) {
  // A program has an entry for each device of its context, built for it or not.
  cl_uint count = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<cl_device_id> devices(count);
  std::vector<size_t> sizes(count);
  if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(),
                       nullptr) != CL_SUCCESS ||
      clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(size_t), sizes.data(),
                       nullptr) != CL_SUCCESS) {
    return {};
  }
  const size_t entry = std::find(devices.begin(), devices.end(), device) - devices.begin();
  if (entry == devices.size()) return {};
  std::vector<uint8_t> binary(sizes[entry]);
  std::vector<unsigned char*> places(count, nullptr);  // null: not wanted
  places[entry] = binary.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*), places.data(),
                       nullptr) != CL_SUCCESS) {
    return {};
  }
  return binary;
}

}  // namespace onexpu
