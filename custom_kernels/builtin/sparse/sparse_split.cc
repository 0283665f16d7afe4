#include "custom_kernels/builtin/sparse/sparse_split.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "custom_kernels/builtin/sort/counting_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparseSplitKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As sparse_split.cpp declares them.
constexpr int64_t kAtOnce = 16;
struct SplitSizes {
  int64_t elements, pieces, chunk, extent, length, longer, first, count;
  int32_t rank, dimension;

  // Of a piece, in the dimension.
  int64_t begin(int64_t piece) const { return piece * length + std::min(piece, longer); }
};
struct Destinations {
  void* coordinates[kAtOnce];
  void* values[kAtOnce];
  int64_t begin[kAtOnce];
};

struct Piece {
  ffi::AnyBuffer coordinates, values;
};

constexpr char kName[] = "sparse split";

bool IsVector(const ffi::AnyBuffer& buffer, ffi::DataType type, int64_t size) {
  return buffer.element_type() == type && buffer.dimensions().size() == 1 &&
         buffer.dimensions()[0] == size;
}

bool AreCoordinates(const ffi::AnyBuffer& buffer) {
  return buffer.element_type() == ffi::S64 && buffer.dimensions().size() == 2;
}

absl::StatusOr<SplitSizes> SizesOf(const ffi::AnyBuffer& coordinates, int64_t pieces,
                                   int64_t dimension, int64_t extent) {
  const bool fits = AreCoordinates(coordinates) && coordinates.dimensions()[0] > 0 && pieces > 0 &&
                    pieces <= extent && dimension >= 0 && dimension < coordinates.dimensions()[1];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": no ", pieces,
                                                   " pieces of ", DescribeBuffer(coordinates),
                                                   " along ", dimension, ", of size ", extent));
  }
  SplitSizes sizes = {.elements = coordinates.dimensions()[0],
                      .pieces = pieces,
                      .extent = extent,
                      .length = extent / pieces,
                      .longer = extent % pieces};
  sizes.rank = static_cast<int32_t>(coordinates.dimensions()[1]);
  sizes.dimension = static_cast<int32_t>(dimension);
  return sizes;
}

// A CPU counts the elements of each piece, and `order` holds these counts: later scans over all
// elements move them, up to kAtOnce pieces at a time. Otherwise `order` holds element indices.
std::optional<KindChunks> ChunksOfCounts(const sycl::queue& queue, const SplitSizes& sizes) {
  constexpr int64_t kMaxScans = 4;
  if (sizes.pieces > kMaxScans * kAtOnce) return std::nullopt;
  return KindChunksOf(queue, sizes.elements, sizes.pieces);
}

absl::Status Split(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& piece_of,
                   const ffi::AnyBuffer& order, const ffi::AnyBuffer& counts, int64_t dimension,
                   int64_t extent) {
  static SpirvModule& find = *MakeModule(SparseSplitKernels(), "split_find").release();
  static SpirvModule& count = *MakeModule(SparseSplitKernels(), "split_count").release();
  absl::StatusOr<SplitSizes> sizes =
      SizesOf(coordinates, static_cast<int64_t>(counts.element_count()), dimension, extent);
  if (!sizes.ok()) return sizes.status();
  if (!IsVector(piece_of, ffi::S32, sizes->elements) ||
      !IsVector(order, ffi::U32, sizes->elements) || !IsVector(counts, ffi::S64, sizes->pieces)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", kName, ": ", DescribeBuffer(coordinates), " do not fit ",
        DescribeBuffer(piece_of), ", ", DescribeBuffer(order), ", ", DescribeBuffer(counts)));
  }
  const Chunks chunks = ChooseChunks(queue, sizes->elements, /*size_on_gpu=*/1);
  sizes->chunk = chunks.size;
  absl::Status status = LaunchKernel(queue, find, chunks.range, coordinates.untyped_data(),
                                     piece_of.untyped_data(), *sizes);
  if (!status.ok()) return status;
  const int32_t* const kind_of = piece_of.typed_data<int32_t>();
  auto* const ordered = order.typed_data<uint32_t>();
  const int64_t* begins = nullptr;
  if (ChunksOfCounts(queue, *sizes).has_value()) {
    absl::StatusOr<std::optional<CountedKinds>> counted =
        CountByKind(queue, scratch, kind_of, sizes->elements, sizes->pieces, ordered);
    if (!counted.ok()) return counted.status();
    begins = (*counted)->begins;
  } else {
    absl::StatusOr<SortedKinds> sorted =
        SortByKind(queue, scratch, kind_of, sizes->elements, sizes->pieces, ordered);
    if (!sorted.ok()) return sorted.status();
    begins = sorted->begins;
  }
  return LaunchKernel(queue, count, {.global = static_cast<size_t>(sizes->pieces)}, begins,
                      counts.untyped_data());
}

absl::Status Move(sycl::queue& queue, SpirvModule& kernel, const ffi::AnyBuffer& coordinates,
                  const ffi::AnyBuffer& values, const ffi::AnyBuffer& piece_of,
                  const ffi::AnyBuffer& counts, absl::Span<const Piece> pieces,
                  const KindChunks& chunks, SplitSizes sizes) {
  const KernelRange range = ChunksOf(queue, sizes.elements, chunks.size).range;
  sizes.chunk = chunks.size;
  for (; sizes.first < sizes.pieces; sizes.first += kAtOnce) {
    sizes.count = std::min(kAtOnce, sizes.pieces - sizes.first);
    Destinations to = {};
    for (int64_t k = 0; k < sizes.count; ++k) {
      const Piece& piece = pieces[sizes.first + k];
      to.coordinates[k] = piece.coordinates.untyped_data();
      to.values[k] = piece.values.untyped_data();
      to.begin[k] = sizes.begin(sizes.first + k);
    }
    absl::Status status =
        LaunchKernel(queue, kernel, range, coordinates.untyped_data(), values.untyped_data(),
                     piece_of.untyped_data(), counts.untyped_data(), to, sizes);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SplitElements(sycl::queue& queue, const ffi::AnyBuffer& coordinates,
                           const ffi::AnyBuffer& values, const ffi::AnyBuffer& piece_of,
                           const ffi::AnyBuffer& order, const ffi::RemainingRets& returned,
                           int64_t dimension, int64_t extent) {
  absl::StatusOr<SplitSizes> sizes =
      SizesOf(coordinates, static_cast<int64_t>(returned.size() / 2), dimension, extent);
  if (!sizes.ok()) return sizes.status();
  bool fits =
      returned.size() % 2 == 0 && IsVector(values, values.element_type(), sizes->elements) &&
      IsVector(piece_of, ffi::S32, sizes->elements) && IsVector(order, ffi::U32, sizes->elements);
  std::vector<Piece> pieces;
  int64_t elements = 0;
  for (size_t i = 0; fits && i < returned.size(); i += 2) {
    auto to_coordinates = returned.get<ffi::AnyBuffer>(i);
    auto to_values = returned.get<ffi::AnyBuffer>(i + 1);
    if (to_coordinates.has_error() || to_values.has_error()) {
      return absl::InternalError(absl::StrCat("onexpu: ", kName, ": no result ", i));
    }
    const Piece& piece = pieces.emplace_back(**to_coordinates, **to_values);
    fits = AreCoordinates(piece.coordinates) && piece.coordinates.dimensions()[1] == sizes->rank &&
           IsVector(piece.values, values.element_type(), piece.coordinates.dimensions()[0]);
    if (fits) elements += piece.values.dimensions()[0];
  }
  if (!fits || elements > sizes->elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", kName, ": values ", DescribeBuffer(values), " at ", DescribeBuffer(coordinates),
        " do not fit into ", returned.size(), " results with ", elements, " elements"));
  }
  static const auto* const moving = new SizedKernelTable(SparseSplitKernels(), "split_move");
  static const auto* const gathering = new SizedKernelTable(SparseSplitKernels(), "split_gather");
  const size_t bytes = ffi::ByteWidth(values.element_type());
  SpirvModule* const move = moving->Find(bytes);
  SpirvModule* const gather = gathering->Find(bytes);
  if (move == nullptr || gather == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for ", DescribeBuffer(values)));
  }
  const std::optional<KindChunks> chunks = ChunksOfCounts(queue, *sizes);
  if (chunks.has_value()) {
    return Move(queue, *move, coordinates, values, piece_of, order, pieces, *chunks, *sizes);
  }
  const auto* places = order.typed_data<uint32_t>();
  for (int64_t k = 0; k < sizes->pieces; ++k) {
    const Piece& piece = pieces[k];
    SplitSizes own = *sizes;
    own.elements = piece.values.dimensions()[0];
    const Chunks piece_chunks = ChooseChunks(queue, own.elements, /*size_on_gpu=*/1);
    own.chunk = piece_chunks.size;
    absl::Status status = LaunchKernel(
        queue, *gather, piece_chunks.range, coordinates.untyped_data(), values.untyped_data(),
        places, piece.coordinates.untyped_data(), piece.values.untyped_data(), own.begin(k), own);
    if (!status.ok()) return status;
    places += own.elements;
  }
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* SparseSplitHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Split, 3>(frame, "dimension", "extent");
}

XLA_FFI_Error* SparseSplitElementsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<SplitElements, 0>(frame, "dimension", "extent");
}

}  // namespace onexpu
