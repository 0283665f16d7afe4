"""The build rules of the project. Load them in a BUILD file with

    load("//bazel:onexpu.bzl", "onexpu_cc_library", "onexpu_cc_test", ...)

Includes are written from the root of the repository: #include "pjrt_core/device/device.h".
Compiler warnings of our own sources are errors in no mode, but keep them at none.

Libraries and XLA's tests get the precompiled header of their kind (//bazel/pch): SYCL's with
@oneapi//:sycl among the deps, LLVM's too with @llvm22//:llvm.

onexpu_cc_library(name, srcs, hdrs, deps)
    C++20. `deps` may name what lies outside of the workspace:
      @oneapi//:sycl  :dnnl  :mkl  :opencl        the oneAPI wheels (headers and libraries)
      @tensorflow_wheel//:pjrt_c_api              xla/pjrt/c/*.h and xla/ffi/api/*.h, plain C
      @absl_system//:absl                         Debian's Abseil, all of it in one target
      @flatbuffers_system//:flatbuffers           FlatBuffers' headers
      @pybind11  @python//:headers                for Python extension modules (both)
    C++20 units never see the Abseil of TensorFlow's wheel.

xla_cc_library(name, srcs, hdrs, deps)
    C++17 with XLA's headers and flags (the compiler room). `deps` may add @llvm22//:llvm. A library
    that both worlds use, and that uses Abseil, is built twice from the same sources: once by
    each macro, because the two Abseils are not the same.

tf_cc_library(name, srcs, hdrs, deps)
    C++17 with TensorFlow's headers, for device plugins and kernels (tf_plugin). Objects that
    register themselves in a static initialiser need alwayslink = True.

onexpu_shared_library(name, deps, exports, rpaths, srcs)
    A shared library that exports the symbols of `exports` (patterns as in a version script, e.g.
    "GetPjrtApi") and hides everything else, archives included. An exported symbol needs default
    visibility in its source (__attribute__((visibility("default")))), since the default is hidden;
    it is linked in without alwayslink. `name` is the file's name. `rpaths` is one of the RPATHS_*
    below: search paths in the installed layout. `shared_deps` (here, in tests and in programs) are
    other onexpu_shared_library targets to link against, e.g. "//pjrt_core/c_api:pjrt_plugin_xpu.so".

onexpu_cc_test(name, srcs, deps, xla = False)
    A GoogleTest (and GoogleMock), with main(). xla = True for tests of the compiler room. The oneAPI
    CPU device is there for plain SYCL calls (OCL_ICD_FILENAMES is set).
onexpu_cc_binary(name, srcs, deps, xla = False, shipped = False)
    A program. Tests and programs find the wheels' libraries by absolute paths, so they run from
    bazel-bin as they are, and as a tool of another rule. With shipped = True the paths are those of
    the installed layout (site-packages/onexpu/lib).

flatbuffer_cc_library(name, srcs)
    room/x.fbs gives #include "room/x_generated.h".

A rule that runs one of our programs as a tool needs nothing special: tools are built in the target's
own configuration, and find the wheels' libraries by themselves. (OCL_ICD_FILENAMES is not set for
them; a genrule sets it if its tool opens the CPU device.)

No bazel-bin symlink is made in the tree, because several output bases may serve one tree. Outputs are
below `bazel info bazel-bin`, which is <output base>/execroot/onexpu/bazel-out/k8-opt/bin.
"""

load("@oneapi//:paths.bzl", "SITE_PACKAGES", "VENV_LIB")
load("//bazel:flatbuffers.bzl", _flatbuffer_cc_library = "flatbuffer_cc_library")
load("//bazel:precompiled_header.bzl", "precompiled_header_copts")

flatbuffer_cc_library = _flatbuffer_cc_library

# Where the libraries of each installed directory search. <venv>/lib holds the oneAPI libraries.
# site-packages is <venv>/lib/python3.11/site-packages.
RPATHS_CORE = ["$$ORIGIN", "$$ORIGIN/../../../.."]  # site-packages/onexpu/lib
RPATHS_COMPILER = RPATHS_CORE + ["$$ORIGIN/../../tensorflow"]
RPATHS_NATIVE = ["$$ORIGIN/lib", "$$ORIGIN/../../.."]  # site-packages/onexpu
RPATHS_TF_PLUGIN = [  # site-packages/tensorflow-plugins
    "$$ORIGIN/../onexpu/lib",
    "$$ORIGIN/../tensorflow",
    "$$ORIGIN/../../..",
]

_CXX17 = ["-std=c++17"]

# TensorFlow's headers mark as deprecated what its own translations and kernels call, such as
# XlaOpKernelContext::InputShape, whose bounds of dynamic dimensions translations here ask for; their
# templates call such functions, too. The pinned wheel has them, and another version is ported anyway.
_TENSORFLOW_WARNINGS = ["-Wno-deprecated-declarations"]

def _rpath_flags(paths):
    return ["-Wl,-rpath," + path for path in paths]

def _shared_link_flags(shared_deps):
    return ["$(location %s)" % dep for dep in shared_deps]

def _shared_dep_rpaths(shared_deps):
    """Search paths in the build tree, from this package's directory to those of `shared_deps`."""
    package = native.package_name()
    up = "/".join([".." for _ in package.split("/")]) if package else "."
    directories = {}
    for dep in shared_deps:
        label = dep if dep.startswith("//") else "//%s%s" % (package, dep)
        directories[label[2:].split(":")[0]] = True
    return _rpath_flags(["$$ORIGIN/%s/%s" % (up, directory) for directory in directories])

def onexpu_cc_library(name, deps = [], copts = [], **kwargs):
    pch = "sycl" if "@oneapi//:sycl" in deps else None
    native.cc_library(
        name = name,
        copts = (precompiled_header_copts(pch) if pch else []) + copts,
        linkstatic = True,
        deps = deps + (["//bazel/pch:" + pch] if pch else []),
        **kwargs
    )

def _xla_precompiled_header(deps):
    return "xla_llvm" if "@llvm22//:llvm" in deps else "xla"

def xla_cc_library(name, deps = [], copts = [], **kwargs):
    pch = _xla_precompiled_header(deps)
    native.cc_library(
        name = name,
        copts = _CXX17 + precompiled_header_copts(pch) + copts,
        linkstatic = True,
        deps = deps + ["@tensorflow_wheel//:xla_headers", "//bazel/pch:" + pch],
        **kwargs
    )

def tf_cc_library(name, deps = [], copts = [], **kwargs):
    native.cc_library(
        name = name,
        copts = _CXX17 + _TENSORFLOW_WARNINGS + precompiled_header_copts("tensorflow") + copts,
        linkstatic = True,
        deps = deps + ["@tensorflow_wheel//:tf_plugin_headers", "//bazel/pch:tensorflow"],
        **kwargs
    )

def _version_script_impl(ctx):
    lines = ["{"]
    if ctx.attr.exports:
        lines.append("  global:")
        lines += ["    %s;" % symbol for symbol in ctx.attr.exports]
    lines += ["  local:", "    *;", "};"]
    output = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(output, "\n".join(lines) + "\n")
    return [DefaultInfo(files = depset([output]))]

_version_script = rule(
    implementation = _version_script_impl,
    attrs = {"exports": attr.string_list(mandatory = True)},
)

# What is shipped holds no debug information: LLVM's archives have some, a fifth of the compiler's
# size, and Valgrind 3.19 cannot read it. --define debug_info=yes keeps it and our own.
_STRIP = select({
    "//bazel:debug_info": [],
    "//conditions:default": ["-Wl,--strip-debug"],
})

def onexpu_shared_library(
        name,
        exports,
        rpaths,
        srcs = [],
        deps = [],
        linkopts = [],
        shared_deps = [],
        **kwargs):
    script = name + ".lds"
    _version_script(name = script, exports = exports)
    native.cc_binary(
        name = name,
        srcs = srcs,
        linkshared = True,
        linkstatic = True,
        linkopts = [
            "-Wl,--version-script=$(location :%s)" % script,
            "-Wl,-soname," + name,
        ] + ["-Wl,-u," + symbol for symbol in exports if "*" not in symbol] +
        _rpath_flags(rpaths) + _shared_link_flags(shared_deps) + linkopts + _STRIP,
        additional_linker_inputs = [":" + script] + shared_deps,
        deps = deps,
        **kwargs
    )

# A program must hide its archives, too: TensorFlow's library would otherwise be bound to the
# program's copy of LLVM, and register its options there a second time.
_HIDE_ARCHIVES = ["-Wl,--exclude-libs,ALL"]

def _build_tree_rpaths(xla):
    """Search paths of what runs from bazel-bin: absolute, and never in what is shipped."""
    return _rpath_flags([VENV_LIB] + ([SITE_PACKAGES + "/tensorflow"] if xla else []))

def onexpu_cc_binary(
        name,
        deps = [],
        copts = [],
        linkopts = [],
        xla = False,
        shipped = False,
        shared_deps = [],
        **kwargs):
    if shipped:
        rpaths = _rpath_flags(RPATHS_COMPILER if xla else RPATHS_CORE)
    else:
        rpaths = _build_tree_rpaths(xla) + _shared_dep_rpaths(shared_deps)
    native.cc_binary(
        name = name,
        copts = (_CXX17 if xla else []) + copts,
        linkopts = _HIDE_ARCHIVES + rpaths + _shared_link_flags(shared_deps) + linkopts +
                   (_STRIP if shipped else []),
        additional_linker_inputs = shared_deps,
        linkstatic = True,
        deps = deps + (["@tensorflow_wheel//:xla"] if xla else []),
        **kwargs
    )

def onexpu_cc_test(
        name,
        deps = [],
        copts = [],
        linkopts = [],
        env = {},
        xla = False,
        shared_deps = [],
        size = "medium",
        **kwargs):
    environment = {
        "OCL_ICD_FILENAMES": VENV_LIB + "/libintelocl.so",
        "ONEXPU_VERIFY_SPIRV": "1",
    }
    environment.update(env)
    pch = _xla_precompiled_header(deps)
    native.cc_test(
        name = name,
        size = size,
        env = environment,
        copts = (_CXX17 + precompiled_header_copts(pch) if xla else []) + copts,
        linkopts = _HIDE_ARCHIVES + _build_tree_rpaths(xla) + _shared_dep_rpaths(shared_deps) +
                   _shared_link_flags(shared_deps) + linkopts,
        additional_linker_inputs = shared_deps,
        linkstatic = True,
        deps = deps + ["@gtest_system//:gtest_main"] +
               (["@tensorflow_wheel//:xla", "//bazel/pch:" + pch] if xla else []),
        **kwargs
    )

def embedded_spirv(name, src, out, llc_flags = "", validate = True):
    """LLVM IR as SPIR-V in a list of bytes, to be included in an array.

    Args:
      name: the rule.
      src: the IR.
      out: the file of numbers.
      llc_flags: options of LLVM's SPIR-V back end.
      validate: False for what spirv-val does not know.
    """
    check = "spirv-val $@.spv && " if validate else ""
    native.genrule(
        name = name,
        srcs = [src],
        outs = [out],
        cmd = "llc-22 %s --filetype=obj $< -o $@.spv && %s" % (llc_flags, check) +
              "od -An -v -tu1 $@.spv | sed 's/ *\\([0-9][0-9]*\\)/\\1,/g' > $@",
    )
