"""sycl_kernels: SYCL C++ to SPIR-V at build time, embedded into a C++ library."""

load("@oneapi//:paths.bzl", "VENV_LIB")
load("//bazel:onexpu.bzl", "onexpu_cc_library")

def sycl_kernels(name, src, kernels, symbol, hdrs = [], visibility = None):
    """Compiles the kernels of one SYCL source, one SPIR-V module each, and embeds them.

    No Intel compiler is needed: libsycl-jit of the SYCL runtime compiles. Every module passes
    spirv-val. A source is what onexpu.sycl_kernel takes, so ONEXPU_KERNEL is there.

    Args:
      name: a C++ library that defines `absl::Span<const onexpu::EmbeddedKernel> onexpu::<symbol>()`.
      src: the SYCL source.
      kernels: a dictionary from labels to kernels as the source names them, templates spelled out:
        {"swish_float32": "swish<float>"}. LABEL.spv is an output of `name`_spirv, too.
      symbol: the name of the function.
      hdrs: what the source includes, by paths from the root of the workspace.
      visibility: of the library.
    """
    modules = [label + ".spv" for label in kernels]
    code = name + ".spirv.cc"
    pairs = " ".join(["'%s=%s'" % item for item in kernels.items()])
    native.genrule(
        name = name + "_spirv",
        srcs = [src] + hdrs,
        outs = [code] + modules,
        cmd = " && ".join([
            ("OCL_ICD_FILENAMES={lib}/libintelocl.so $(location //custom_kernels/tool:syclc)" +
             " --source=$(location {src}) --include_directory=. --symbol={symbol} --output_cc=$(location {code})" +
             " --output_directory=$(@D) {pairs}").format(
                code = code,
                lib = VENV_LIB,
                pairs = pairs,
                src = src,
                symbol = symbol,
            ),
        ] + ["spirv-val $(location %s)" % module for module in modules]),
        tools = ["//custom_kernels/tool:syclc"],
        visibility = visibility,
    )
    onexpu_cc_library(
        name = name,
        srcs = [code],
        deps = [
            "//custom_kernels:spirv_module",
            "@absl_system//:absl",
        ],
        visibility = visibility,
    )
