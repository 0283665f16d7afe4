"""@tensorflow_wheel: XLA and TensorFlow out of the wheel, and the C headers of PJRT and XLA FFI.

:xla_headers        XLA's headers and the flags they need, for the compiler room
:xla                the same with libtensorflow_cc.so.2 and libtensorflow_framework.so.2
:tf_plugin_headers  TensorFlow's C++ headers, for kernels and device plugins
:tf_plugin          the same with the two libraries
:pjrt_c_api         only xla/pjrt/c/*.h that are plain C, and xla/ffi/api (jaxlib's, version 0.3),
                    in a root of their own: no Abseil of TensorFlow comes with them
:xxhash             xxhash.h, which is header-only; TensorFlow has it for gRPC
"""

load("//bazel:venv.bzl", "VENV_ENVIRONMENT", "find_venv", "site_packages", "wheel_version")

_PJRT_C_HEADERS = [
    "xla/backends/profiler/plugin/profiler_c_api.h",
    "xla/pjrt/c/pjrt_c_api.h",
    "xla/pjrt/c/pjrt_c_api_ffi_extension.h",
    "xla/pjrt/c/pjrt_c_api_layouts_extension.h",
    "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h",
    "xla/pjrt/c/pjrt_c_api_phase_compile_extension.h",
    "xla/pjrt/c/pjrt_c_api_profiler_extension.h",
    "xla/pjrt/c/pjrt_c_api_stream_extension.h",
    "xla/pjrt/c/pjrt_c_api_tpu_topology_extension.h",
]

_FFI_HEADERS = [
    "xla/ffi/api/api.h",
    "xla/ffi/api/c_api.h",
    "xla/ffi/api/ffi.h",
]

_XXHASH = "external/com_github_grpc_grpc/third_party/xxhash/xxhash.h"

# Below tensorflow/include; the order is the search order.
_XLA_INCLUDE_DIRS = [
    "",
    "/external/llvm-project/mlir/include",
    "/external/stablehlo",
    "/external/highwayhash",
    "/external/farmhash_archive/src",
    "/external/com_googlesource_code_re2",
    "/external/shardy",
    "/xla/mlir_hlo",
]

# MLIR's headers want LLVM's, which the wheel lacks: a kernel sees our stubs of them instead.
_TF_INCLUDE_DIRS = [
    "",
    "/external/highwayhash",
    "/external/farmhash_archive/src",
]

_BUILD = """\
load("@onexpu//bazel:external_library.bzl", "external_library")

package(default_visibility = ["//visibility:public"])

_DEFINES = [
    "EIGEN_MAX_ALIGN_BYTES=64",
    "ONEXPU_TENSORFLOW_VERSION=\\"{version}\\"",
]

_LIBRARIES = [
    "-L{tensorflow}",
    "-l:libtensorflow_cc.so.2",
    "-l:libtensorflow_framework.so.2",
]

external_library(
    name = "xla_headers",
    defines = _DEFINES,
    include_dirs = {xla_include_dirs},
)

external_library(
    name = "xla",
    linkopts = _LIBRARIES,
    deps = [":xla_headers"],
)

external_library(
    name = "tf_plugin_headers",
    defines = _DEFINES,
    include_dirs = {tf_include_dirs},
    deps = ["@onexpu//bazel/tf_stubs"],
)

external_library(
    name = "tf_plugin",
    linkopts = _LIBRARIES,
    deps = [":tf_plugin_headers"],
)

cc_library(
    name = "pjrt_c_api",
    hdrs = glob(["pjrt_c_api/**/*.h"]),
    includes = ["pjrt_c_api"],
)

cc_library(
    name = "xxhash",
    hdrs = ["xxhash/xxhash.h"],
    includes = ["xxhash"],
)
"""

def _impl(ctx):
    venv = find_venv(ctx)
    packages = site_packages(ctx, venv)
    include = packages + "/tensorflow/include"
    for header in _PJRT_C_HEADERS:
        ctx.symlink(include + "/" + header, "pjrt_c_api/" + header)
    for header in _FFI_HEADERS:
        ctx.symlink(packages + "/jaxlib/include/" + header, "pjrt_c_api/" + header)
    ctx.symlink(include + "/" + _XXHASH, "xxhash/xxhash.h")
    ctx.file("BUILD", _BUILD.format(
        tensorflow = packages + "/tensorflow",
        version = wheel_version(ctx, venv, "tensorflow-cpu", "tensorflow"),
        xla_include_dirs = repr([include + directory for directory in _XLA_INCLUDE_DIRS]),
        tf_include_dirs = repr([include + directory for directory in _TF_INCLUDE_DIRS]),
    ))

tensorflow_repository = repository_rule(implementation = _impl, environ = VENV_ENVIRONMENT)
