"""All that the build takes from outside of the workspace. Nothing is downloaded."""

load("//bazel:llvm.bzl", "llvm_repository")
load("//bazel:oneapi.bzl", "oneapi_repository")
load(
    "//bazel:system_libraries.bzl",
    "absl_repository",
    "flatbuffers_repository",
    "gtest_repository",
    "pybind11_repository",
    "python_repository",
)
load("//bazel:tensorflow.bzl", "tensorflow_repository")

def onexpu_dependencies():
    oneapi_repository(name = "oneapi")
    tensorflow_repository(name = "tensorflow_wheel")
    llvm_repository(name = "llvm22")
    absl_repository(name = "absl_system")
    flatbuffers_repository(name = "flatbuffers_system")
    gtest_repository(name = "gtest_system")
    pybind11_repository(name = "pybind11")
    python_repository(name = "python")
