"""@oneapi: SYCL, oneDNN, oneMKL and OpenCL out of the wheels.

Targets: :sycl, :dnnl, :mkl (BLAS, LAPACK, DFT), :tbb, :opencl. No target carries a run-time search path:
that is the business of what is linked (see onexpu.bzl).
"""

load("//bazel:venv.bzl", "VENV_ENVIRONMENT", "find_venv", "run_python", "site_packages", "wheel_version")

_PATHS = """\
VENV = "{venv}"
VENV_LIB = "{venv}/lib"
SITE_PACKAGES = "{site_packages}"
HEADER_ROOTS = {header_roots}
"""

_BUILD = """\
load("@onexpu//bazel:external_library.bzl", "external_library")

package(default_visibility = ["//visibility:public"])

external_library(
    name = "headers",
    include_dirs = ["{venv}/include"],
    defines = [
        "ONEXPU_SYCL_WHEEL=\\"{sycl}\\"",
        "ONEXPU_ONEDNN_WHEEL=\\"{dnnl}\\"",
        "ONEXPU_ONEMKL_WHEEL=\\"{mkl}\\"",
    ],
)

# The search path of libsycl (RUNPATH) comes after LD_LIBRARY_PATH, where a sourced setvars.sh puts
# another oneAPI's libraries of the same names. The search path of our libraries (RPATH) comes before
# it. So ours load what libsycl and its adapters need, before these look for it.
external_library(
    name = "sycl",
    linkopts = [
        "-L{venv}/lib",
        "-l:libsycl.so.9",
        "-Wl,--push-state,--no-as-needed",
        "-l:libur_loader.so.0",
        "-l:libumf.so.1",
        "-l:libhwloc.so.15",
        "-l:libintlc.so.5",
        "-l:libimf.so",
        "-l:libsvml.so",
        "-l:libirng.so",
        "-Wl,--pop-state",
    ],
    deps = [":headers"],
)

external_library(
    name = "opencl",
    linkopts = ["-L{venv}/lib", "-l:libOpenCL.so.1"],
    deps = [":headers"],
)

external_library(
    name = "dnnl",
    linkopts = ["-L{venv}/lib", "-l:libdnnl.so.3"],
    deps = [":sycl"],
)

external_library(
    name = "tbb",
    linkopts = ["-L{venv}/lib", "-l:libtbb.so.12"],
    deps = [":headers"],
)

# The SYCL front ends use the classic libraries without naming them as needed: keep them all.
external_library(
    name = "mkl",
    defines = ["MKL_ILP64"],
    linkopts = [
        "-L{venv}/lib",
        "-Wl,--push-state,--no-as-needed",
        "-l:libmkl_sycl_blas.so.6",
        "-l:libmkl_sycl_lapack.so.6",
        "-l:libmkl_sycl_dft.so.6",
        "-l:libmkl_intel_ilp64.so.3",
        "-l:libmkl_tbb_thread.so.3",
        "-l:libmkl_core.so.3",
        "-Wl,--pop-state",
    ],
    deps = [
        ":sycl",
        ":tbb",
    ],
)
"""

def _impl(ctx):
    venv = find_venv(ctx)
    python_include = run_python(
        ctx,
        venv,
        "import sysconfig; print(sysconfig.get_path('include'))",
    )
    ctx.file("paths.bzl", _PATHS.format(
        venv = venv,
        site_packages = site_packages(ctx, venv),
        header_roots = repr([venv, str(ctx.path(venv).realpath), python_include]),
    ))
    ctx.file("BUILD", _BUILD.format(
        venv = venv,
        sycl = wheel_version(ctx, venv, "intel-sycl-rt"),
        dnnl = wheel_version(ctx, venv, "onednn"),
        mkl = wheel_version(ctx, venv, "mkl-devel-dpcpp"),
    ))

oneapi_repository = repository_rule(implementation = _impl, environ = VENV_ENVIRONMENT)
