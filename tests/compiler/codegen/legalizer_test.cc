// The legaliser must change no value. Each function below is evaluated on samples twice, by LLVM's
// constant folding: as written, and after legalisation. The results must be equal bit by bit, and
// nothing illegal may be left.
#include "pjrt_core/compiler/codegen/llvm/legalizer/legalizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "pjrt_core/compiler/codegen/llvm/llvm_optimizer.h"
#include "pjrt_core/compiler/codegen/llvm/module_to_spirv.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"

namespace onexpu::compiler {
namespace {

// OpenCL built-ins that expansions call, for the constant folder.
constexpr char kBuiltins[] = R"(
define spir_func i64 @_Z6mul_himm(i64 %x, i64 %y) alwaysinline {
  %a = zext i64 %x to i128
  %b = zext i64 %y to i128
  %p = mul i128 %a, %b
  %h = lshr i128 %p, 64
  %r = trunc i128 %h to i64
  ret i64 %r
}
define spir_func i64 @_Z6mul_hill(i64 %x, i64 %y) alwaysinline {
  %a = sext i64 %x to i128
  %b = sext i64 %y to i128
  %p = mul i128 %a, %b
  %h = lshr i128 %p, 64
  %r = trunc i128 %h to i64
  ret i64 %r
})";

std::unique_ptr<llvm::Module> Parse(absl::string_view text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(std::string(text), diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str() << " in line "
                             << diagnostic.getLineNo();
  auto machine = CreateSpirvTargetMachine();
  EXPECT_TRUE(machine.ok());
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  return module;
}

// Adds `@sample<i>`: a call of @f with each pair of bits, then folds them all.
std::vector<std::string> Evaluate(std::unique_ptr<llvm::Module> module,
                                  const std::vector<std::vector<uint64_t>>& samples) {
  llvm::LLVMContext& context = module->getContext();
  if (module->getFunction("_Z6mul_himm") != nullptr ||
      module->getFunction("_Z6mul_hill") != nullptr) {
    EXPECT_FALSE(llvm::Linker::linkModules(*module, Parse(kBuiltins, context)));
  }
  llvm::Function* f = module->getFunction("f");
  f->addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::IRBuilder<> b(context);
  for (size_t i = 0; i < samples.size(); ++i) {
    auto* type = llvm::FunctionType::get(f->getReturnType(), false);
    auto* sample = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          absl::StrCat("sample", i), *module);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", sample));
    std::vector<llvm::Value*> arguments;
    for (size_t j = 0; j < f->arg_size(); ++j) {
      llvm::Type* argument = f->getArg(j)->getType();
      arguments.push_back(b.CreateBitCast(
          b.getInt(llvm::APInt(argument->getPrimitiveSizeInBits(), samples[i][j], false, true)),
          argument));
    }
    llvm::CallInst* call = b.CreateCall(f, arguments);
    call->setCallingConv(f->getCallingConv());
    b.CreateRet(call);
  }
  auto machine = CreateSpirvTargetMachine();
  EXPECT_TRUE(OptimizeModule(*module, **machine).ok());
  std::vector<std::string> results;
  for (size_t i = 0; i < samples.size(); ++i) {
    llvm::BasicBlock& entry = module->getFunction(absl::StrCat("sample", i))->getEntryBlock();
    llvm::Value* value = llvm::cast<llvm::ReturnInst>(entry.getTerminator())->getReturnValue();
    EXPECT_TRUE(llvm::isa<llvm::Constant>(value)) << "sample " << i << " did not fold";
    std::string text;
    llvm::raw_string_ostream stream(text);
    value->print(stream);
    results.push_back(text);
  }
  return results;
}

void ExpectSameValues(absl::string_view text, const std::vector<std::vector<uint64_t>>& samples) {
  llvm::LLVMContext context;
  auto original = Parse(text, context);
  auto legalized = Parse(text, context);
  const absl::Status status = LegalizeModule(*legalized, {});
  ASSERT_TRUE(status.ok()) << status;
  const std::string after = ToText(*legalized);
  const auto expected = Evaluate(std::move(original), samples);
  const auto actual = Evaluate(std::move(legalized), samples);
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(actual[i], expected[i]) << "sample " << i << "\n" << after;
}

absl::Status Legalize(absl::string_view text, const LegalizerOptions& options = {}) {
  llvm::LLVMContext context;
  return LegalizeModule(*Parse(text, context), options);
}

const std::vector<std::vector<uint64_t>>& IntegerPairs() {
  static const auto* pairs = new std::vector<std::vector<uint64_t>>([] {
    std::vector<std::vector<uint64_t>> made;
    const uint64_t values[] = {0,
                               1,
                               2,
                               3,
                               5,
                               7,
                               100,
                               0x7f,
                               0x80,
                               0xff,
                               0xffff,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x123456789abcdef0,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0xffffffffffffffff};
    for (uint64_t x : values) {
      for (uint64_t y : values) made.push_back({x, y});
    }
    return made;
  }());
  return *pairs;
}

std::string WithType(absl::string_view text, absl::string_view type) {
  std::string result(text);
  for (size_t at; (at = result.find("$T")) != std::string::npos;) result.replace(at, 2, type);
  return result;
}

class OddWidth : public testing::TestWithParam<const char*> {};

TEST_P(OddWidth, ArithmeticKeepsItsValues) {
  for (const char* operation : {"add", "sub", "mul", "and", "or", "xor"}) {
    SCOPED_TRACE(operation);
    ExpectSameValues(
        WithType(absl::StrCat("define i64 @f(i64 %x, i64 %y) {\n %a = trunc i64 %x to $T\n"
                              " %b = trunc i64 %y to $T\n %r = ",
                              operation,
                              " $T %a, %b\n %s = sext $T %r to i64\n %z = zext $T %r to i64\n"
                              " %m = mul i64 %z, 31\n %q = add i64 %s, %m\n ret i64 %q\n}"),
                 GetParam()),
        IntegerPairs());
  }
}

TEST_P(OddWidth, DivisionAndShiftsKeepTheirValues) {
  for (const char* operation : {"udiv", "urem", "sdiv", "srem", "lshr", "ashr", "shl"}) {
    SCOPED_TRACE(operation);
    // The right operand is 1: defined for all of them, for every width and left operand.
    ExpectSameValues(
        WithType(absl::StrCat("define i64 @f(i64 %x, i64 %y) {\n %a = trunc i64 %x to $T\n"
                              " %n = and i64 %y, 1\n %o = sub i64 1, %n\n %p = add i64 %n, %o\n"
                              " %b = trunc i64 %p to $T\n %r = ",
                              operation, " $T %a, %b\n %s = sext $T %r to i64\n ret i64 %s\n}"),
                 GetParam()),
        IntegerPairs());
  }
}

TEST_P(OddWidth, ComparisonsSelectsAndSwitchesKeepTheirValues) {
  for (const char* predicate : {"eq", "ne", "slt", "sge", "ult", "uge"}) {
    SCOPED_TRACE(predicate);
    ExpectSameValues(WithType(absl::StrCat(R"(
define i64 @f(i64 %x, i64 %y) {
entry:
  %a = trunc i64 %x to $T
  %b = trunc i64 %y to $T
  %c = icmp )",
                                           predicate, R"( $T %a, %b
  %s = select i1 %c, $T %a, $T %b
  switch $T %s, label %other [ $T 0, label %zero  $T -1, label %ones ]
zero:
  br label %end
ones:
  br label %end
other:
  %i = add $T %s, 1
  br label %end
end:
  %p = phi $T [ 2, %zero ], [ 3, %ones ], [ %i, %other ]
  %r = sext $T %p to i64
  ret i64 %r
})"),
                              GetParam()),
                     IntegerPairs());
  }
}

TEST_P(OddWidth, IntrinsicsKeepTheirValues) {
  for (const char* name : {"umin", "umax", "smin", "smax", "uadd.sat", "usub.sat"}) {
    SCOPED_TRACE(name);
    ExpectSameValues(
        WithType(
            absl::StrCat("declare $T @llvm.", name, ".$T($T, $T)\n",
                         "define i64 @f(i64 %x, i64 %y) {\n %a = trunc i64 %x to $T\n"
                         " %b = trunc i64 %y to $T\n %r = call $T @llvm.",
                         name, ".$T($T %a, $T %b)\n", " %s = sext $T %r to i64\n ret i64 %s\n}"),
            GetParam()),
        IntegerPairs());
  }
  for (const char* name : {"ctlz", "cttz"}) {
    ExpectSameValues(WithType(absl::StrCat("declare $T @llvm.", name, ".$T($T, i1)\n",
                                           "define i64 @f(i64 %x) {\n %a = trunc i64 %x to $T\n"
                                           " %r = call $T @llvm.",
                                           name, ".$T($T %a, i1 false)\n",
                                           " %s = zext $T %r to i64\n ret i64 %s\n}"),
                              GetParam()),
                     IntegerPairs());
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, OddWidth,
                         testing::Values("i2", "i4", "i7", "i24", "i33", "i48", "i63"));

TEST(WideIntegers, KeepTheirValues) {
  // The closed form that the optimiser finds for sums over a loop counter, and what else comes with
  // it.
  for (const char* type : {"i65", "i96", "i128"}) {
    for (const char* operation : {"add", "sub", "mul", "and", "or", "xor"}) {
      SCOPED_TRACE(absl::StrCat(type, " ", operation));
      ExpectSameValues(WithType(absl::StrCat(R"(
define i64 @f(i64 %x, i64 %y) {
  %a = zext i64 %x to $T
  %b = sext i64 %y to $T
  %r = )",
                                             operation, R"( $T %a, %b
  %k = trunc i64 %y to i6
  %n = zext i6 %k to $T
  %l = lshr $T %r, %n
  %h = ashr $T %r, 3
  %s = shl $T %r, %n
  %c = icmp ult $T %l, %s
  %d = icmp slt $T %h, %b
  %p = select i1 %c, $T %l, $T %s
  %q = select i1 %d, $T %p, $T %h
  %hi = lshr $T %q, 60
  %t = trunc $T %q to i64
  %u = trunc $T %hi to i64
  %m = mul i64 %u, 1000003
  %o = xor i64 %t, %m
  ret i64 %o
})"),
                                type),
                       IntegerPairs());
    }
  }
}

TEST(WideIntegers, ShiftsAcrossTheHalves) {
  std::vector<std::vector<uint64_t>> samples;
  for (uint64_t amount : {0, 1, 31, 63, 64, 65, 100, 127})
    samples.push_back({0x123456789abcdef1, amount});
  for (const char* operation : {"shl", "lshr", "ashr"}) {
    ExpectSameValues(absl::StrCat(R"(
define i64 @f(i64 %x, i64 %n) {
  %a = sext i64 %x to i128
  %b = shl i128 %a, 63
  %w = zext i64 %n to i128
  %r = )",
                                  operation, R"( i128 %b, %w
  %h = lshr i128 %r, 64
  %t = trunc i128 %r to i64
  %u = trunc i128 %h to i64
  %o = xor i64 %t, %u
  ret i64 %o
})"),
                     samples);
  }
}

TEST(Intrinsics, OverflowKeepsItsValues) {
  for (const char* type : {"i8", "i16", "i32", "i64"}) {
    for (const char* name : {"uadd", "usub", "sadd", "ssub", "umul", "smul"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", type));
      ExpectSameValues(
          WithType(
              absl::StrCat(
                  "declare {$T, i1} @llvm.", name, ".with.overflow.$T($T, $T)\n",
                  "define i64 @f(i64 %x, i64 %y) {\n %a = lshr i64 %x, 0\n %v = add i64 %a, 0\n",
                  std::string(type) == "i64"
                      ? " %s = or i64 %x, 0\n %t = or i64 %y, 0\n"
                      : " %s = trunc i64 %x to $T\n %t = trunc i64 %y to $T\n",
                  " %p = call {$T, i1} @llvm.", name, ".with.overflow.$T($T %s, $T %t)\n",
                  " %q = extractvalue {$T, i1} %p, 0\n %o = extractvalue {$T, i1} %p, 1\n",
                  std::string(type) == "i64" ? " %w = or i64 %q, 0\n" : " %w = zext $T %q to i64\n",
                  " %e = zext i1 %o to i64\n %m = mul i64 %w, 2\n %r = add i64 %m, %e\n",
                  " ret i64 %r\n}"),
              type),
          IntegerPairs());
    }
  }
}

std::vector<std::vector<uint64_t>> FloatPairs() {
  // 0, -0, 1, -1, 2.5, the smallest denormal, infinities, NaN, a large number and one above the
  // range of i32.
  const uint64_t values[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000,
                             0x40200000, 0x00000001, 0x7f800000, 0xff800000,
                             0x7fc00000, 0x7f7fffff, 0x4f800000, 0xcf000001};
  std::vector<std::vector<uint64_t>> pairs;
  for (uint64_t x : values) {
    for (uint64_t y : values) pairs.push_back({x, y});
  }
  return pairs;
}

TEST(Intrinsics, MinimaAndMaximaKnowNanAndSignedZero) {
  for (const char* name : {"minimum", "maximum", "minimumnum", "maximumnum"}) {
    SCOPED_TRACE(name);
    // The sign of zero counts, a NaN's payload does not.
    ExpectSameValues(
        absl::StrCat(
            "declare float @llvm.", name, ".f32(float, float)\n",
            "define i32 @f(float %x, float %y) {\n %r = call float @llvm.", name,
            ".f32(float %x, float %y)\n %n = fcmp uno float %r, %r\n"
            " %b = bitcast float %r to i32\n %s = select i1 %n, i32 1, i32 %b\n ret i32 %s\n}"),
        FloatPairs());
  }
}

TEST(Intrinsics, SaturatingConversionsKeepTheirValues) {
  for (const char* type : {"i8", "i16", "i32", "i64"}) {
    for (const char* name : {"fptosi", "fptoui"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", type));
      ExpectSameValues(WithType(absl::StrCat("declare $T @llvm.", name, ".sat.$T.f32(float)\n",
                                             "define $T @f(float %x) {\n %r = call $T @llvm.", name,
                                             ".sat.$T.f32(float %x)\n ret $T %r\n}"),
                                type),
                       FloatPairs());
    }
  }
}

TEST(Intrinsics, ThreeWayComparisonsKeepTheirValues) {
  for (const char* name : {"ucmp", "scmp"}) {
    ExpectSameValues(
        absl::StrCat("declare i2 @llvm.", name,
                     ".i2.i64(i64, i64)\ndefine i64 @f(i64 %x, i64 %y) {\n", " %r = call i2 @llvm.",
                     name, ".i2.i64(i64 %x, i64 %y)\n %s = sext i2 %r to i64\n", " ret i64 %s\n}"),
        IntegerPairs());
  }
}

TEST(Intrinsics, BitReverseIsExpandedWithoutTheExtension) {
  ExpectSameValues(
      "declare i32 @llvm.bitreverse.i32(i32)\ndefine i32 @f(i32 %x) {\n"
      " %r = call i32 @llvm.bitreverse.i32(i32 %x)\n ret i32 %r\n}",
      IntegerPairs());
}

TEST(Aggregates, PhisOfStructsKeepTheirValues) {
  ExpectSameValues(R"(
define i64 @f(i64 %x, i64 %y) {
entry:
  %c = icmp ult i64 %x, %y
  %a0 = insertvalue {i64, i32} poison, i64 %x, 0
  %a = insertvalue {i64, i32} %a0, i32 7, 1
  br i1 %c, label %left, label %end
left:
  %b0 = insertvalue {i64, i32} %a, i64 %y, 0
  br label %end
end:
  %p = phi {i64, i32} [ %a, %entry ], [ %b0, %left ]
  %s = select i1 %c, {i64, i32} %p, {i64, i32} %a
  %u = extractvalue {i64, i32} %s, 0
  %v = extractvalue {i64, i32} %s, 1
  %w = zext i32 %v to i64
  %r = add i64 %u, %w
  ret i64 %r
})",
                   IntegerPairs());
}

TEST(Vectors, BooleansAndLongOnesKeepTheirValues) {
  ExpectSameValues(R"(
define i64 @f(i64 %x, i64 %y) {
  %v = bitcast i64 %x to <8 x i8>
  %w = bitcast i64 %y to <8 x i8>
  %c = icmp ult <8 x i8> %v, %w
  %s = select <8 x i1> %c, <8 x i8> %v, <8 x i8> %w
  %m = bitcast <8 x i1> %c to i8
  %r = bitcast <8 x i8> %s to i64
  %n = zext i8 %m to i64
  %o = xor i64 %r, %n
  ret i64 %o
})",
                   IntegerPairs());
}

TEST(Memory, OddIntegersAreTheirBytes) {
  ExpectSameValues(R"(
define i64 @f(i64 %x) {
  %p = alloca i64, align 8
  store i64 -1, ptr %p, align 8
  %a = trunc i64 %x to i24
  store i24 %a, ptr %p, align 4
  %b = load i24, ptr %p, align 4
  %q = getelementptr i8, ptr %p, i64 3
  %k = load i8, ptr %q, align 1
  %r = sext i24 %b to i64
  %z = zext i8 %k to i64
  %s = mul i64 %z, 5
  %t = add i64 %r, %s
  ret i64 %t
})",
                   IntegerPairs());
}

TEST(Refusals, NameTheInstructionAndTheKernel) {
  const absl::Status bfloat = Legalize(
      "define spir_kernel void @k(ptr addrspace(1) %p) {\n"
      " %x = load bfloat, ptr addrspace(1) %p\n %y = fadd bfloat %x, %x\n"
      " store bfloat %y, ptr addrspace(1) %p\n ret void\n}");
  EXPECT_EQ(bfloat.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(bfloat.message().find("bfloat"), absl::string_view::npos) << bfloat;
  EXPECT_NE(bfloat.message().find("kernel k"), absl::string_view::npos) << bfloat;

  const absl::Status division = Legalize(
      "define i128 @k(i64 %x) {\n %a = zext i64 %x to i128\n"
      " %r = udiv i128 %a, 10\n ret i128 %r\n}");
  EXPECT_EQ(division.code(), absl::StatusCode::kUnimplemented) << division;

  LegalizerOptions without_doubles;
  without_doubles.has_fp64 = false;
  EXPECT_EQ(Legalize("define spir_kernel void @k(ptr addrspace(1) %p) {\n store double 1.0, ptr "
                     "addrspace(1) %p\n"
                     " ret void\n}",
                     without_doubles)
                .code(),
            absl::StatusCode::kUnimplemented);
}

TEST(Atomics, SmallOnesBecomeLoopsOnWords) {
  llvm::LLVMContext context;
  auto module = Parse(
      "define spir_kernel void @k(ptr addrspace(1) %p) {\n"
      " %a = atomicrmw add ptr addrspace(1) %p, i8 3 monotonic\n"
      " %b = atomicrmw fadd ptr addrspace(1) %p, float 1.0 monotonic\n"
      " %c = atomicrmw add ptr addrspace(1) %p, i32 3 monotonic\n ret void\n}",
      context);
  const absl::Status status = LegalizeModule(*module, {});
  ASSERT_TRUE(status.ok()) << status;
  const std::string text = ToText(*module);
  EXPECT_EQ(text.find("atomicrmw fadd"), std::string::npos) << text;
  EXPECT_EQ(text.find("i8 3 monotonic"), std::string::npos) << text;
  EXPECT_NE(text.find("cmpxchg"), std::string::npos) << text;
  EXPECT_NE(text.find("atomicrmw add ptr addrspace(1) %p, i32 3"), std::string::npos) << text;
}

TEST(Extensions, AreAskedForOnlyWhenUsed) {
  llvm::LLVMContext context;
  LegalizerOptions options;
  options.spirv_extensions = {"SPV_EXT_shader_atomic_float_add", "SPV_INTEL_subgroups"};
  auto module = Parse(
      "define spir_kernel void @k(ptr addrspace(1) %p) {\n"
      " %b = atomicrmw fadd ptr addrspace(1) %p, float 1.0 monotonic\n ret void\n}",
      context);
  ASSERT_TRUE(LegalizeModule(*module, options).ok());
  EXPECT_EQ(UsedSpirvExtensions(*module, options), "+SPV_EXT_shader_atomic_float_add");
  EXPECT_EQ(UsedSpirvExtensions(*module, {}), "");
}

}  // namespace
}  // namespace onexpu::compiler
