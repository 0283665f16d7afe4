// The entries of the table, and which convolutions of which implementations they match.
#include "pjrt_core/library_faults/table.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/library_faults/convolution.h"

namespace onexpu::library_faults {
namespace {

constexpr Version kOneDnn = {3, 11, 4};

WindowDimension Dimension(int64_t source, int64_t kernel, int64_t stride, int64_t padding_low,
                          int64_t destination, int64_t dilation = 1) {
  return {source, kernel, stride, dilation, padding_low, destination};
}

Convolution Form(OperandType type, int64_t channels, std::vector<WindowDimension> window,
                 ConvolutionKind kind = ConvolutionKind::kForward) {
  Convolution convolution;
  convolution.kind = kind;
  convolution.type = type;
  convolution.source_channels_per_group = channels;
  convolution.destination_channels_per_group = 2;
  convolution.window = std::move(window);
  return convolution;
}

std::string NameOf(std::string_view implementation, const Convolution& convolution,
                   Version version = kOneDnn) {
  const Fault* fault = FindConvolutionFault(version, implementation, convolution);
  return fault == nullptr ? "" : fault->name;
}

TEST(LibraryFaultsTest, ProductsOfS8InTiles) {
  const Matmul wrong = {OperandType::kS8, 70, true};
  const auto name_of = [](std::string_view implementation, const Matmul& matmul) {
    const Fault* fault = FindMatmulFault(kOneDnn, implementation, matmul);
    return std::string(fault == nullptr ? "" : fault->name);
  };
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx", wrong), "matmul-s8-amx-tail");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx_fp16", wrong), "matmul-s8-amx-tail");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512", wrong), "");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx", {OperandType::kS8, 128, true}), "");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx", {OperandType::kS8, 63, true}), "");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx", {OperandType::kS8, 70, false}), "");
  EXPECT_EQ(name_of("brg_matmul:avx10_1_512_amx", {OperandType::kBf16, 70, true}), "");
}

TEST(LibraryFaultsTest, EveryEntryIsComplete) {
  std::set<std::string> names;
  for (const Fault& fault : Faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    for (const char* text : {fault.library, fault.name, fault.versions, fault.trigger,
                             fault.symptom, fault.workaround, fault.test}) {
      ASSERT_NE(text, nullptr) << fault.name;
      EXPECT_STRNE(text, "") << fault.name;
    }
  }
  EXPECT_GT(names.size(), 10u);
}

TEST(LibraryFaultsTest, FindsPositionsAndTapsThatMeetOnlyPadding) {
  EXPECT_FALSE(HasPaddingOnlyPosition(Dimension(5, 3, 1, 1, 5)));
  EXPECT_TRUE(HasPaddingOnlyPosition(Dimension(5, 3, 1, 3, 5)));     // in front
  EXPECT_TRUE(HasPaddingOnlyPosition(Dimension(1, 1, 3, 1, 2)));     // on both sides of the source
  EXPECT_TRUE(HasPaddingOnlyPosition(Dimension(2, 2, 2, 0, 2)));     // behind
  EXPECT_FALSE(HasPaddingOnlyPosition(Dimension(3, 2, 2, 0, 2)));    // its first element is inside
  EXPECT_TRUE(HasPaddingOnlyPosition(Dimension(1, 2, 1, 1, 1, 3)));  // a dilated kernel steps over
  EXPECT_FALSE(HasPaddingOnlyTap(Dimension(5, 3, 1, 1, 5)));
  EXPECT_TRUE(HasPaddingOnlyTap(Dimension(1, 3, 1, 1, 1)));
  EXPECT_TRUE(HasPaddingOnlyTap(Dimension(2, 7, 3, 6, 3)));  // in the middle of the kernel
  EXPECT_FALSE(HasPaddingOnlyTap(Dimension(2, 3, 1, 1, 2)));
}

TEST(LibraryFaultsTest, OutputWidthOfOne) {
  const Convolution wrong =
      Form(OperandType::kF32, 1, {Dimension(11, 4, 1, 0, 8), Dimension(5, 4, 2, 0, 1)});
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", wrong), "convolution-output-width-one");
  EXPECT_EQ(NameOf("jit_uni_ncsp:conv+brg_conv_fwd:avx512_core", wrong),
            "convolution-output-width-one");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx2", wrong), "");
  EXPECT_EQ(NameOf("jit:avx512_core", wrong), "");
  Convolution right = wrong;
  right.source_channels_per_group = 2;
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", right), "");
  right = wrong;
  right.window[1].stride = 1;
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", right), "");
  // A gradient that runs on the same kernels was always right.
  right = wrong;
  right.kind = ConvolutionKind::kBackwardData;
  EXPECT_EQ(NameOf("brg_conv_bwd:avx512_core+brg_conv_fwd:avx512_core", right), "");
}

TEST(LibraryFaultsTest, OneChannelOfNarrowTypes) {
  const std::vector<WindowDimension> window = {Dimension(8, 3, 2, 0, 3)};
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16", Form(OperandType::kBf16, 1, window)),
            "convolution-one-channel-narrow");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_vnni", Form(OperandType::kS8, 1, window)),
            "convolution-one-channel-narrow");
  EXPECT_EQ(NameOf("jit_bf16:avx512_core_bf16", Form(OperandType::kBf16, 1, window)), "");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16", Form(OperandType::kBf16, 3, window)), "");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", Form(OperandType::kF32, 1, window)), "");
}

TEST(LibraryFaultsTest, PaddingBeforeAnUnreadTail) {
  const std::vector<WindowDimension> tail = {Dimension(8, 4, 4, 3, 2)};
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16", Form(OperandType::kBf16, 32, tail)),
            "convolution-padding-ignored");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", Form(OperandType::kF32, 32, tail)), "");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16",
                   Form(OperandType::kBf16, 32, {Dimension(7, 4, 4, 3, 2)})),
            "");
}

TEST(LibraryFaultsTest, OneColumnOfNarrowTypes) {
  const std::vector<WindowDimension> patch = {Dimension(4, 4, 4, 0, 1)};
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16", Form(OperandType::kBf16, 16, patch)),
            "convolution-output-width-one-narrow");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_vnni", Form(OperandType::kS8, 32, patch)),
            "convolution-output-width-one-narrow");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core", Form(OperandType::kF32, 16, patch)), "");
  EXPECT_EQ(NameOf("brg_conv_fwd:avx512_core_bf16",
                   Form(OperandType::kBf16, 16, {Dimension(8, 4, 4, 0, 2)})),
            "");
}

TEST(LibraryFaultsTest, OneColumnInTiles) {
  for (const OperandType type : {OperandType::kBf16, OperandType::kS8}) {
    const auto name_of = [&](const WindowDimension& column) {
      return NameOf("brg_conv_fwd:avx10_1_512_amx",
                    Form(type, 31, {Dimension(10, 3, 1, 1, 9), column}));
    };
    EXPECT_EQ(name_of(Dimension(6, 7, 6, 1, 1)), "convolution-output-width-one-amx");
    EXPECT_EQ(name_of(Dimension(6, 7, 1, 1, 1)), "");
    EXPECT_EQ(name_of(Dimension(12, 7, 6, 1, 2)), "");
  }
}

TEST(LibraryFaultsTest, FewChannelsInTiles) {
  const auto name_of = [](int64_t channels, const WindowDimension& column) {
    return NameOf("brg_conv_fwd:avx10_1_512_amx", Form(OperandType::kBf16, channels, {column}));
  };
  EXPECT_EQ(name_of(12, Dimension(15, 8, 1, 0, 8)), "convolution-few-channels-amx");
  EXPECT_EQ(name_of(16, Dimension(15, 8, 1, 0, 8)), "");
  EXPECT_EQ(name_of(12, Dimension(15, 1, 1, 0, 15)), "");
  EXPECT_EQ(name_of(12, Dimension(15, 4, 1, 0, 9, 2)), "");
}

TEST(LibraryFaultsTest, DataGradientsInTiles) {
  const WindowDimension depth = Dimension(9, 8, 5, 0, 1), row = Dimension(9, 7, 5, 1, 2);
  const char* tiles = "jit:avx10_1_512_amx";
  EXPECT_EQ(NameOf(tiles,
                   Form(OperandType::kBf16, 16, {depth, row, row}, ConvolutionKind::kBackwardData)),
            "data-gradient-bf16-amx-3d");
  EXPECT_EQ(NameOf(tiles, Form(OperandType::kBf16, 16, {row, row}, ConvolutionKind::kBackwardData)),
            "");
}

TEST(LibraryFaultsTest, OutputsThatMeetOnlyPadding) {
  const Convolution wrong = Form(OperandType::kBf16, 2, {Dimension(1, 1, 3, 1, 2, 3)});
  for (const char* isa : {"avx2", "avx512_core", "avx512_core_bf16", "avx512_core_vnni"}) {
    EXPECT_EQ(NameOf(std::string("brg_conv_fwd:") + isa, wrong), "convolution-padding-only-output");
  }
  EXPECT_EQ(NameOf("x64:gemm:jit", wrong), "");
}

TEST(LibraryFaultsTest, DepthwiseOutputsThatMeetOnlyPadding) {
  const std::vector<WindowDimension> window = {Dimension(3, 1, 1, 3, 6), Dimension(1, 1, 1, 0, 1)};
  EXPECT_EQ(NameOf("brdgmm_dw:avx512_core_vnni", Form(OperandType::kS8, 1, window)),
            "depthwise-s8-padding-only-output");
  EXPECT_EQ(NameOf("brdgmm_dw:avx512_core_bf16", Form(OperandType::kBf16, 1, window)), "");
  EXPECT_EQ(NameOf("brdgmm_dw:avx512_core_vnni",
                   Form(OperandType::kS8, 1, {Dimension(3, 1, 1, 0, 3), Dimension(1, 1, 1, 0, 1)})),
            "");
}

TEST(LibraryFaultsTest, ProductsOfS8ThatAreNotExact) {
  const Convolution convolution = Form(OperandType::kS8, 16, {Dimension(8, 3, 1, 1, 8)});
  for (const char* inexact : {"brg_conv_fwd:avx512_core", "jit_uni_int8:avx2",
                              "jit_int8:avx512_core", "brgconv_1x1:avx512_core"}) {
    EXPECT_EQ(NameOf(inexact, convolution), "convolution-s8-inexact") << inexact;
  }
  for (const char* exact : {"brg_conv_fwd:avx512_core_vnni", "jit_int8:avx512_core_vnni",
                            "x64:gemm_s8s8s32:jit", "ref:any", "brgconv:avx2_vnni", "jit:ir"}) {
    EXPECT_EQ(NameOf(exact, convolution), "") << exact;
  }
}

TEST(LibraryFaultsTest, GradientsOfWeights) {
  const auto gradient = [](OperandType type, int64_t channels,
                           std::vector<WindowDimension> window) {
    return Form(type, channels, std::move(window), ConvolutionKind::kBackwardWeights);
  };
  const WindowDimension unmet = Dimension(2, 7, 3, 6, 3), met = Dimension(8, 3, 1, 1, 8);
  EXPECT_EQ(NameOf("jit:avx512_core", gradient(OperandType::kF32, 16, {unmet, met, met})),
            "weight-gradient-padding-only-tap");
  EXPECT_EQ(NameOf("jit:avx2", gradient(OperandType::kF32, 16, {unmet, met})),
            "weight-gradient-padding-only-tap");
  EXPECT_EQ(NameOf("jit:avx512_core", gradient(OperandType::kF32, 16, {unmet, met})), "");
  EXPECT_EQ(NameOf("jit:avx2", gradient(OperandType::kF32, 16, {met, unmet})), "");
  EXPECT_EQ(NameOf("x64:gemm:jit", gradient(OperandType::kF32, 16, {unmet, met, met})), "");
  EXPECT_EQ(NameOf("jit_bf16:avx512_core_bf16", gradient(OperandType::kBf16, 16, {met})),
            "weight-gradient-bf16");
  const WindowDimension sampled = Dimension(9, 1, 2, 0, 5);
  EXPECT_EQ(NameOf("jit_1x1:avx2", gradient(OperandType::kF32, 3, {sampled})),
            "weight-gradient-of-samples");
  EXPECT_EQ(NameOf("jit_1x1:avx2", gradient(OperandType::kF32, 8, {sampled})), "");
}

TEST(LibraryFaultsTest, LaterVersionsKeepAFaultUntilOneIsKnownToBeFree) {
  const Convolution wrong = Form(OperandType::kF32, 16, {Dimension(1, 1, 3, 1, 2)});
  EXPECT_EQ(NameOf("brg_conv_fwd:avx2", wrong, {4, 0, 0}), "convolution-padding-only-output");
  EXPECT_LT((Version{3, 11, 4}), (Version{3, 12, 0}));
  EXPECT_LT((Version{3, 11, 4}), (Version{4, 0, 0}));
  EXPECT_FALSE((Version{3, 11, 4}) < (Version{3, 11, 4}));
}

}  // namespace
}  // namespace onexpu::library_faults
