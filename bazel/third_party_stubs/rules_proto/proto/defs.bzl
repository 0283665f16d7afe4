"""The native protocol buffer rules under the names that Bazel's embedded tools load them by."""

ProtoInfo = ProtoInfo
proto_lang_toolchain = native.proto_lang_toolchain
proto_library = native.proto_library
