"""A C++ library that lies outside of the workspace, by absolute paths.

The headers stay where they are: TensorFlow's wheel alone has eleven thousand, and listing them as
inputs costs more than compiling. Their versions are in the command line (`defines`), so that a new
version compiles anew.
"""

def _external_library_impl(ctx):
    compilation = cc_common.create_compilation_context(
        system_includes = depset(ctx.attr.include_dirs),
        defines = depset(ctx.attr.defines),
    )
    linking = cc_common.create_linking_context(
        linker_inputs = depset([cc_common.create_linker_input(
            owner = ctx.label,
            user_link_flags = depset(ctx.attr.linkopts),
        )]),
    )
    own = CcInfo(compilation_context = compilation, linking_context = linking)
    return [
        cc_common.merge_cc_infos(
            direct_cc_infos = [own],
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
        DefaultInfo(),
    ]

external_library = rule(
    implementation = _external_library_impl,
    attrs = {
        "include_dirs": attr.string_list(doc = "Absolute directories, searched in this order."),
        "defines": attr.string_list(),
        "linkopts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
    },
    provides = [CcInfo],
)
