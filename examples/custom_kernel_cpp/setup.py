"""Compiles the device code to SPIR-V, then the handlers, with the C++ compiler of the system."""

from __future__ import annotations

import pathlib

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

import onexpu

KERNELS = {
    "squared_relu_kernel": "squared_relu",
    "squared_relu_gradient_kernel": "squared_relu_gradient",
}


class BuildKernels(build_ext):
    """Embeds the device code before it compiles what includes it."""

    def build_extension(self, extension: Extension) -> None:
        """Builds the library."""
        generated = pathlib.Path(self.build_temp) / "generated"
        onexpu.embed_kernels("src/device.cpp", KERNELS, generated / "device.h")
        extension.include_dirs.append(str(generated))
        super().build_extension(extension)


setup(
    packages=["example_kernels"],
    ext_modules=[
        Extension(
            "example_kernels._kernels",
            sources=["src/handlers.cc"],
            depends=["src/device.cpp"],
            include_dirs=[str(onexpu.include_directory())],
            library_dirs=[str(onexpu.library_directory("oneapi"))],
            libraries=["sycl", ":libmkl_sycl_blas.so.6"],
            extra_compile_args=[
                "-std=c++17",
                "-O2",
                "-g0",
                "-fvisibility=hidden",
                *(f"-isystem{onexpu.include_directory(of)}" for of in ("xla", "oneapi")),
            ],
        )
    ],
    cmdclass={"build_ext": BuildKernels},
)
