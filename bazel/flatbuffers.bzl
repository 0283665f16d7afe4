"""flatbuffer_cc_library: C++ headers from FlatBuffers schemas."""

_DEFAULT_FLATC_ARGUMENTS = [
    "--cpp-std c++17",
    "--scoped-enums",
    "--gen-object-api",
    "--reflect-names",
    "--warnings-as-errors",
]

def flatbuffer_cc_library(name, srcs, flatc_arguments = _DEFAULT_FLATC_ARGUMENTS, **kwargs):
    """A header-only library: room/x.fbs gives room/x_generated.h.

    Args:
      name: the library.
      srcs: schemas of this package.
      flatc_arguments: options of flatc that shape the C++.
      **kwargs: passed on to cc_library.
    """
    headers = []
    for source in srcs:
        header = source[:-len(".fbs")] + "_generated.h"
        native.genrule(
            name = "%s_%s" % (name, header.replace("/", "_").replace(".", "_")),
            srcs = [source],
            outs = [header],
            cmd = "$(location @flatbuffers_system//:flatc) --cpp %s -o $$(dirname $@) $<" %
                  " ".join(flatc_arguments),
            tools = ["@flatbuffers_system//:flatc"],
        )
        headers.append(header)
    native.cc_library(
        name = name,
        hdrs = headers,
        deps = ["@flatbuffers_system//:flatbuffers"],
        **kwargs
    )
