#include <cstdint>
#include <memory>

#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/cpu_device/lapack_routines.h"

namespace onexpu {
namespace {

// From that many on, all threads solve a system faster than one (2 cores, f32; us with 1 thread and
// with 2: 128 right-hand sides of 128 equations 71 and 60, 256 of 256 383 and 219).
constexpr int64_t kMinThreadedProducts = 1 << 21;

template <typename T>
class TriangularSolveBatch final : public TypedLapackBatch<T> {
 public:
  explicit TriangularSolveBatch(const TriangularEquation& equation)
      : TypedLapackBatch<T>(equation.b), equation_(equation) {
    const int64_t products = Products(equation);
    this->Plan({.products = products, .is_large = products >= kMinThreadedProducts});
  }

 private:
  static int64_t Products(const TriangularEquation& equation) {
    const ColumnMajorBatch& b = equation.b;
    return b.rows * b.columns * (equation.left_side ? b.rows : b.columns) / 2;
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory,
                 char* /*scratch*/) const override {
    const ColumnMajorBatch& b = equation_.b;
    const char side = equation_.left_side ? 'L' : 'R';
    const char triangle = LapackTriangle(equation_.lower);
    const char transpose = !equation_.transposed ? 'N' : equation_.conjugated ? 'C' : 'T';
    const char diagonal = equation_.unit_diagonal ? 'U' : 'N';
    const LapackInt rows = b.rows, columns = b.columns, leading_b = b.leading;
    const LapackInt leading_a = equation_.leading_a;
    const T one{1};
    LapackRoutines<T>::trsm(
        &side, &triangle, &transpose, &diagonal, &rows, &columns, ToLapack(&one),
        ToLapack(static_cast<const T*>(memory.second) + matrix * equation_.distance_a), &leading_a,
        ToLapack(this->CopiedMatrix(memory.operand, memory.result, matrix)), &leading_b);
  }

  const TriangularEquation equation_;
};

}  // namespace

std::unique_ptr<const LapackBatch> MakeTriangularSolveBatch(program::ElementType type,
                                                            const TriangularEquation& equation) {
  return MakeTypedBatch<TriangularSolveBatch>(type, equation);
}

}  // namespace onexpu
