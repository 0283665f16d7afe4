"""The C++ toolchain: clang-22 and lld-22 from Debian, libstdc++ of the system."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load(
    "@bazel_tools//tools/cpp:cc_toolchain_config_lib.bzl",
    "feature",
    "flag_group",
    "flag_set",
    "tool_path",
)
load("@oneapi//:paths.bzl", "HEADER_ROOTS")

_COMPILE_ACTIONS = [
    ACTION_NAMES.c_compile,
    ACTION_NAMES.cpp_compile,
    ACTION_NAMES.cpp_header_parsing,
    ACTION_NAMES.assemble,
    ACTION_NAMES.preprocess_assemble,
]

_CPP_ACTIONS = [ACTION_NAMES.cpp_compile, ACTION_NAMES.cpp_header_parsing]

_LINK_ACTIONS = [
    ACTION_NAMES.cpp_link_executable,
    ACTION_NAMES.cpp_link_dynamic_library,
    ACTION_NAMES.cpp_link_nodeps_dynamic_library,
]

_SHARED_LINK_ACTIONS = [
    ACTION_NAMES.cpp_link_dynamic_library,
    ACTION_NAMES.cpp_link_nodeps_dynamic_library,
]

def _flags(actions, flags):
    return flag_set(actions = actions, flag_groups = [flag_group(flags = flags)])

def _config_impl(ctx):
    defaults = feature(
        name = "default_flags",
        enabled = True,
        flag_sets = [
            _flags(_COMPILE_ACTIONS, [
                "-O2",
                "-DNDEBUG",
                "-fPIC",
                "-fvisibility=hidden",
                "-ffunction-sections",
                "-fdata-sections",
                "-fno-omit-frame-pointer",
                "-D_GLIBCXX_USE_CXX11_ABI=1",
                "-Wall",
                "-Wno-unused-command-line-argument",
                # The same file gives the same object whenever it is compiled.
                "-no-canonical-prefixes",
                "-Wno-builtin-macro-redefined",
                "-D__DATE__=\"redacted\"",
                "-D__TIMESTAMP__=\"redacted\"",
                "-D__TIME__=\"redacted\"",
            ]),
            # A later -std=c++17 among a target's copts wins over this one.
            _flags(_CPP_ACTIONS, ["-std=c++20"]),
            _flags(_LINK_ACTIONS, [
                "-fuse-ld=lld",
                "-Wl,--as-needed",
                "-Wl,--gc-sections",
                "-Wl,-z,relro",
                # DT_RPATH, because DT_RUNPATH does not reach the libraries of the libraries:
                # oneDNN's and the OpenCL loader's wheels carry no search path of their own.
                "-Wl,--disable-new-dtags",
                "-Wl,--build-id=sha1",
                "-pthread",
            ]),
        ],
    )

    # A Python extension module turns this off: the interpreter brings what it lacks.
    no_undefined = feature(
        name = "no_undefined",
        enabled = True,
        flag_sets = [_flags(_SHARED_LINK_ACTIONS, ["-Wl,-z,defs"])],
    )

    # After the libraries' own flags, because clang and not clang++ is the driver.
    standard_libraries = feature(
        name = "standard_libraries",
        enabled = True,
        flag_sets = [_flags(_LINK_ACTIONS, ["-lstdc++", "-lm", "-ldl"])],
    )

    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        toolchain_identifier = "clang-22-linux",
        host_system_name = "x86_64-linux-gnu",
        target_system_name = "x86_64-linux-gnu",
        target_cpu = "k8",
        target_libc = "glibc",
        compiler = "clang",
        abi_version = "gcc",
        abi_libc_version = "glibc",
        features = [
            defaults,
            no_undefined,
            standard_libraries,
            feature(name = "supports_pic", enabled = True),
            feature(name = "supports_dynamic_linker", enabled = True),
            feature(name = "opt"),
            feature(name = "dbg"),
            feature(name = "fastbuild"),
        ],
        # Headers below these are not tracked one by one. What they hold is decided by the versions
        # in requirements.txt, which are part of every compile command that uses them.
        cxx_builtin_include_directories = ["/usr/include", "/usr/lib"] + HEADER_ROOTS,
        tool_paths = [
            tool_path(name = "gcc", path = "/usr/bin/clang-22"),
            tool_path(name = "cpp", path = "/usr/bin/clang-cpp-22"),
            tool_path(name = "ld", path = "/usr/bin/ld.lld-22"),
            tool_path(name = "ar", path = "/usr/bin/llvm-ar-22"),
            tool_path(name = "nm", path = "/usr/bin/llvm-nm-22"),
            tool_path(name = "objcopy", path = "/usr/bin/llvm-objcopy-22"),
            tool_path(name = "objdump", path = "/usr/bin/llvm-objdump-22"),
            tool_path(name = "strip", path = "/usr/bin/llvm-strip-22"),
            tool_path(name = "gcov", path = "/bin/false"),
            tool_path(name = "dwp", path = "/bin/false"),
        ],
    )

clang_toolchain_config = rule(
    implementation = _config_impl,
    attrs = {},
    provides = [CcToolchainConfigInfo],
)
