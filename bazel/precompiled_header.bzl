"""A precompiled header: large headers parsed, and their templates instantiated, once for a room.

A unit of the compiler spends nine tenths of its time in XLA's headers. The header names what most
units of the room include anyway; every unit still includes what it uses (--define precompiled=no
builds without, which finds those that do not).
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    output = ctx.actions.declare_file(ctx.label.name)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        source_file = ctx.file.header.path,
        output_file = output.path,
        quote_include_directories = depset(["."], transitive = [context.quote_includes]),
        include_directories = context.includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        # Without timestamps: the output may come from a cache that is older than the headers.
        arguments = ["-x", "c++-header", "-fpch-instantiate-templates", "-Xclang"] +
                    ["-fno-pch-timestamp"] + flags,
        inputs = depset([ctx.file.header] + ctx.files.includes, transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        # It names its sources by their absolute paths: another output base must make its own.
        execution_requirements = {"no-cache": "1"},
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % ctx.file.header.short_path,
    )
    return [DefaultInfo(files = depset([output]))]

_precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "includes": attr.label_list(allow_files = [".h"], doc = "What the header includes of ours."),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def precompiled_header(name, header, deps, includes = [], copts = []):
    """`name`.pch of `header`, and a library `name` that makes it an input of what depends on it."""
    _precompiled_header(
        name = name + ".pch",
        header = header,
        includes = includes,
        deps = deps,
        copts = copts,
    )
    native.cc_library(name = name, textual_hdrs = [":" + name + ".pch", header] + includes)

def precompiled_header_copts(name):
    """What units that depend on //bazel/pch:`name` are compiled with."""
    return select({
        "//bazel/pch:without": [],
        "//conditions:default": ["-include-pch", "$(GENDIR)/bazel/pch/%s.pch" % name],
    })
