// Failures that a batched routine of oneMKL reports.
#include "pjrt_core/thunks/onemkl/lapack_call.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CheckFailures, SortsTheNumbers) {
  EXPECT_THAT(*CheckFailures({3, 0, 2}, 4), ElementsAre(0, 2, 3));
}

TEST(CheckFailures, KnowsTheOnlyMatrix) { EXPECT_THAT(*CheckFailures({}, 1), ElementsAre(0)); }

TEST(CheckFailures, RejectsFailuresWithoutNumbers) {
  const absl::Status status = CheckFailures({}, 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("not for which of the 3 matrices"));
}

TEST(CheckFailures, RejectsNumbersOutsideOfTheBatch) {
  EXPECT_THAT(CheckFailures({0, 3}, 3).status().message(), HasSubstr("matrix 3 failed"));
  EXPECT_THAT(CheckFailures({-1, 0}, 3).status().message(), HasSubstr("matrix -1 failed"));
}

}  // namespace
}  // namespace onexpu
