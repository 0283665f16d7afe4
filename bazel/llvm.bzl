"""@llvm22: LLVM 22's static libraries with the SPIR-V target, from the system.

The archives are inputs of the link and TensorFlow's library is one of its flags, so the archives
come first, and every llvm:: symbol is bound to our own hidden copy.
"""

_LLVM_CONFIG = "/usr/bin/llvm-config-22"

_COMPONENTS = [
    "spirv",
    "passes",
    "irreader",
    "bitreader",
    "bitwriter",
    "core",
    "linker",
    "support",
    "target",
    "analysis",
    "transformutils",
]

_BUILD = """\
load("@onexpu//bazel:external_library.bzl", "external_library")

package(default_visibility = ["//visibility:public"])

external_library(
    name = "headers",
    defines = [
        "__STDC_CONSTANT_MACROS",
        "__STDC_FORMAT_MACROS",
        "__STDC_LIMIT_MACROS",
    ],
    include_dirs = ["{include}"],
)

# Everything the code generator and the SPIR-V worker need.
cc_library(
    name = "llvm",
    srcs = {archives},
    # Static, so that an install need not carry them. They are position independent only as long as
    # their symbols are hidden, which they are in all that we link.
    linkopts = ["-l:libzstd.a", "-l:libz.a"],
    deps = [":headers"],
)
"""

def _llvm_config(ctx, *arguments):
    if not ctx.path(_LLVM_CONFIG).exists:
        fail("onexpu: %s is missing: apt-get install llvm-22-dev" % _LLVM_CONFIG)
    result = ctx.execute([_LLVM_CONFIG, "--link-static"] + list(arguments))
    if result.return_code:
        fail("onexpu: llvm-config-22 failed: " + result.stderr)
    return result.stdout.strip()

def _impl(ctx):
    archives = []
    for path in _llvm_config(ctx, "--libfiles", *_COMPONENTS).split(" "):
        name = "lib/" + path.split("/")[-1]
        ctx.symlink(path, name)
        archives.append(name)
    ctx.file("BUILD", _BUILD.format(
        include = _llvm_config(ctx, "--includedir"),
        archives = repr(archives),
    ))

llvm_repository = repository_rule(implementation = _impl)
