"""@absl_system, @flatbuffers_system, @gtest_system, @pybind11 and @python."""

load("//bazel:venv.bzl", "VENV_ENVIRONMENT", "find_venv", "run_python", "site_packages", "wheel_version")

_HEADER = """\
load("@onexpu//bazel:external_library.bzl", "external_library")

package(default_visibility = ["//visibility:public"])
"""

_LIBRARY_DIR = "/usr/lib/x86_64-linux-gnu"

def _require(ctx, path, package):
    if not ctx.path(path).exists:
        fail("onexpu: %s is missing: apt-get install %s" % (path, package))

def _absl_impl(ctx):
    # Debian's archives are not position independent, hence the shared libraries. Only those that
    # are used stay in the result (--as-needed).
    _require(ctx, "/usr/include/absl/status/statusor.h", "libabsl-dev")
    names = []
    for path in ctx.path(_LIBRARY_DIR).readdir():
        name = path.basename
        if name.startswith("libabsl_") and name.endswith(".so"):
            names.append("-l" + name[len("lib"):-len(".so")])
    ctx.file("BUILD", _HEADER + """
external_library(
    name = "absl",
    linkopts = {},
)
""".format(repr(sorted(names))))

absl_repository = repository_rule(implementation = _absl_impl)

def _flatbuffers_impl(ctx):
    _require(ctx, "/usr/include/flatbuffers/flatbuffers.h", "libflatbuffers-dev")
    _require(ctx, "/usr/bin/flatc", "flatbuffers-compiler")
    ctx.symlink("/usr/bin/flatc", "flatc")
    ctx.file("BUILD", _HEADER + """
exports_files(["flatc"])

# Generated code needs the headers only.
external_library(name = "flatbuffers")
""")

flatbuffers_repository = repository_rule(implementation = _flatbuffers_impl)

def _gtest_impl(ctx):
    _require(ctx, "/usr/include/gtest/gtest.h", "libgtest-dev")
    _require(ctx, "/usr/include/gmock/gmock.h", "libgmock-dev")
    ctx.file("BUILD", _HEADER + """
external_library(
    name = "gtest",
    linkopts = ["-lgmock", "-lgtest"],
)

external_library(
    name = "gtest_main",
    linkopts = ["-lgmock_main"],
    deps = [":gtest"],
)
""")

gtest_repository = repository_rule(implementation = _gtest_impl)

def _pybind11_impl(ctx):
    venv = find_venv(ctx)
    ctx.file("BUILD", _HEADER + """
external_library(
    name = "pybind11",
    defines = ["ONEXPU_PYBIND11_WHEEL=\\"{version}\\""],
    include_dirs = ["{include}"],
)
""".format(
        version = wheel_version(ctx, venv, "pybind11"),
        include = site_packages(ctx, venv) + "/pybind11/include",
    ))

pybind11_repository = repository_rule(implementation = _pybind11_impl, environ = VENV_ENVIRONMENT)

_OTHER_PYTHON = """
cc_library(
    name = "headers_{version}",
    hdrs = glob(["include-{version}/**/*.h"]),
    includes = ["include-{version}"],
)
"""

_VERSION_AND_INCLUDE = """
import sysconfig
print(sysconfig.get_python_version(), sysconfig.get_path('include'))
"""

def _python_impl(ctx):
    """`:headers` are those of the environment, `:headers_3.N` those of ONEXPU_PYTHONS."""
    venv = find_venv(ctx)
    include = run_python(ctx, venv, "import sysconfig; print(sysconfig.get_path('include'))")
    _require(ctx, include + "/Python.h", "python3-dev")
    build = _HEADER + """
external_library(
    name = "headers",
    include_dirs = ["{}"],
)
""".format(include)
    others = []
    for python in ctx.os.environ.get("ONEXPU_PYTHONS", "").split(":"):
        if not python:
            continue
        result = ctx.execute([python, "-I", "-c", _VERSION_AND_INCLUDE])
        if result.return_code:
            fail("onexpu: %s, of ONEXPU_PYTHONS, did not run:\n%s" % (python, result.stderr))
        version, include = result.stdout.strip().split(" ")
        others.append(version)
        ctx.symlink(include, "include-" + version)
        build += _OTHER_PYTHON.format(version = version)
    ctx.file("BUILD", build)
    ctx.file("versions.bzl", "OTHER_VERSIONS = %r\n" % others)

python_repository = repository_rule(
    implementation = _python_impl,
    environ = VENV_ENVIRONMENT + ["ONEXPU_PYTHONS"],
)
