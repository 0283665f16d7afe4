#include "custom_kernels/builtin_kernels.h"

#include <cstring>

#include "custom_kernels/builtin/csr/csr_matmul.h"
#include "custom_kernels/builtin/csr/csr_merge.h"
#include "custom_kernels/builtin/csr/csr_structure.h"
#include "custom_kernels/builtin/csr/csr_values.h"
#include "custom_kernels/builtin/csr/sparse_matmul.h"
#include "custom_kernels/builtin/csr/tridiagonal_solve.h"
#include "custom_kernels/builtin/image/box_proposals.h"
#include "custom_kernels/builtin/image/crop_and_resize.h"
#include "custom_kernels/builtin/image/non_max_suppression.h"
#include "custom_kernels/builtin/random/categorical.h"
#include "custom_kernels/builtin/random/random.h"
#include "custom_kernels/builtin/segment/segment_grad.h"
#include "custom_kernels/builtin/segment/segment_reduce.h"
#include "custom_kernels/builtin/shape/partition.h"
#include "custom_kernels/builtin/shape/stitch.h"
#include "custom_kernels/builtin/shape/where.h"
#include "custom_kernels/builtin/shape/zeros.h"
#include "custom_kernels/builtin/sort/hash_bucket.h"
#include "custom_kernels/builtin/sort/histogram.h"
#include "custom_kernels/builtin/sort/nan_order.h"
#include "custom_kernels/builtin/sort/unique.h"
#include "custom_kernels/builtin/sparse/fill_empty_rows.h"
#include "custom_kernels/builtin/sparse/sparse_apply.h"
#include "custom_kernels/builtin/sparse/sparse_coordinates.h"
#include "custom_kernels/builtin/sparse/sparse_pieces.h"
#include "custom_kernels/builtin/sparse/sparse_slice_grad.h"
#include "custom_kernels/builtin/sparse/sparse_split.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/kernel_target.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const BuiltinKernel> BuiltinKernels() {
  static const auto* const kernels = new std::vector<BuiltinKernel>{
      {kKernelTarget,
       "",
       KernelTargetHandlers(),
       {},
       "kernel: string, global_size: i64[1..3], local_size: i64[0..3], scalars: u8[]",
       "A SPIR-V kernel that was registered from Python."},
      {"onexpu.box_proposals",
       "GenerateBoundingBoxProposals",
       {nullptr, nullptr, nullptr, BoxProposalsHandler},
       {"float32"},
       "nms_threshold: f32, min_size: f32, pre_nms_topn: i64",
       "The proposals of a region proposal network."},
      {"onexpu.categorical",
       "Multinomial, StatelessMultinomial",
       {nullptr, nullptr, nullptr, CategoricalHandler},
       CategoricalTypes(),
       "key: i64, counter_low: i64, counter_high: i64",
       "Samples from categorical distributions."},
      {"onexpu.copy_rows",
       "",
       {nullptr, nullptr, nullptr, CopyRowsHandler},
       {},
       "first: i64",
       "Rows that follow one another."},
      {"onexpu.crop_and_resize",
       "CropAndResize",
       {nullptr, nullptr, nullptr, CropAndResizeHandler},
       CropAndResizeTypes(),
       "extrapolation_value: f32, method: string ('bilinear' or 'nearest')",
       "Crops of images at boxes, resized."},
      {"onexpu.crop_and_resize_check",
       "",
       {nullptr, nullptr, nullptr, CropAndResizeCheckHandler},
       {"float32"},
       "batch: i64",
       "Whether boxes are of images of a batch, and finite."},
      {"onexpu.crop_and_resize_grad_image",
       "CropAndResizeGradImage",
       {nullptr, nullptr, nullptr, CropAndResizeGradImageHandler},
       CropAndResizeGradImageTypes(),
       "method: string ('bilinear' or 'nearest')",
       "The gradient of crop_and_resize by its images."},
      {"onexpu.crop_and_resize_grad_boxes",
       "CropAndResizeGradBoxes",
       {nullptr, nullptr, nullptr, CropAndResizeGradBoxesHandler},
       CropAndResizeGradBoxesTypes(),
       "",
       "The gradient of crop_and_resize by its boxes (bilinear)."},
      {"onexpu.csr_add",
       "SparseMatrixAdd",
       {nullptr, nullptr, nullptr, CsrAddHandler},
       CsrTypes(),
       "shape: i64[2..3]",
       "Sums of scaled sparse matrices in compressed rows; data-dependent size."},
      {"onexpu.csr_conjugate",
       "",
       {nullptr, nullptr, nullptr, CsrConjugateHandler},
       CsrConjugateTypes(),
       "",
       "Values of the conjugate of a sparse matrix in compressed rows."},
      {"onexpu.csr_coordinates",
       "CSRSparseMatrixToSparseTensor",
       {nullptr, nullptr, nullptr, CsrCoordinatesHandler},
       {},
       "shape: i64[2..3]",
       "Coordinates of the elements of sparse matrices in compressed rows."},
      {"onexpu.csr_from_coordinates",
       "SparseTensorToCSRSparseMatrix, DenseToCSRSparseMatrix",
       {nullptr, nullptr, nullptr, CsrFromCoordinatesHandler},
       {},
       "shape: i64[2..3]",
       "Sparse matrices in compressed rows from coordinates."},
      {"onexpu.csr_matmul",
       "SparseMatrixMatMul",
       {nullptr, nullptr, nullptr, CsrMatmulHandler},
       CsrTypes(),
       "shape: i64[2..3], transpose_a: i64, conjugate_a: i64, transpose_b: i64, conjugate_b: i64, "
       "transpose_output: i64, conjugate_output: i64",
       "Products of sparse matrices in compressed rows and dense ones."},
      {"onexpu.csr_pick",
       "",
       {nullptr, nullptr, nullptr, CsrPickHandler},
       CsrTypes(),
       "shape: i64[2..3]",
       "What dense matrices have at coordinates."},
      {"onexpu.csr_product",
       "SparseMatrixSparseMatMul",
       {nullptr, nullptr, nullptr, CsrProductHandler},
       CsrTypes(),
       "shape: i64[2..3], b_shape: i64[2..3], terms: i64",
       "Products of sparse matrices in compressed rows; data-dependent size."},
      {"onexpu.csr_product_terms",
       "",
       {nullptr, nullptr, nullptr, CsrProductTermsHandler},
       CsrTypes(),
       "shape: i64[2..3], b_shape: i64[2..3]",
       "Of how many terms such a product is made."},
      {"onexpu.csr_scale",
       "SparseMatrixMul",
       {nullptr, nullptr, nullptr, CsrScaleHandler},
       CsrTypes(),
       "shape: i64[2..3]",
       "Sparse matrices in compressed rows times a number, or one for each."},
      {"onexpu.csr_softmax",
       "SparseMatrixSoftmax",
       {nullptr, nullptr, nullptr, CsrSoftmaxHandler},
       CsrSoftmaxTypes(),
       "shape: i64[2..3]",
       "Softmax of the rows of sparse matrices."},
      {"onexpu.csr_softmax_grad",
       "SparseMatrixSoftmaxGrad",
       {nullptr, nullptr, nullptr, CsrSoftmaxGradHandler},
       CsrSoftmaxTypes(),
       "shape: i64[2..3]",
       "The gradient of csr_softmax."},
      {"onexpu.csr_to_dense",
       "CSRSparseMatrixToDense",
       {nullptr, nullptr, nullptr, CsrToDenseHandler},
       CsrTypes(),
       "shape: i64[2..3]",
       "Dense matrices from sparse ones in compressed rows."},
      {"onexpu.csr_transpose",
       "SparseMatrixTranspose",
       {nullptr, nullptr, nullptr, CsrTransposeHandler},
       CsrTypes(),
       "shape: i64[2..3], conjugate: i64",
       "Transposed sparse matrices in compressed rows."},
      {"onexpu.fill_empty_rows",
       "SparseFillEmptyRows, RaggedFillEmptyRows",
       {nullptr, nullptr, nullptr, FillEmptyRowsHandler},
       {},
       "",
       "An element for every row of a sparse or ragged tensor; data-dependent size."},
      {"onexpu.fill_empty_rows_grad",
       "SparseFillEmptyRowsGrad, RaggedFillEmptyRowsGrad",
       {nullptr, nullptr, nullptr, FillEmptyRowsGradHandler},
       FillEmptyRowsGradTypes(),
       "",
       "The gradient of fill_empty_rows."},
      {"onexpu.hash_bucket",
       "_TensorToHashBucketFast",
       {nullptr, nullptr, nullptr, HashBucketHandler},
       HashBucketTypes(),
       "buckets: i64",
       "Buckets of integers by the hash of their decimal text."},
      {"onexpu.histogram",
       "HistogramFixedWidth",
       {nullptr, nullptr, nullptr, HistogramHandler},
       HistogramTypes(),
       "",
       "Counts of values by bins."},
      {"onexpu.nan_order",
       "",
       {nullptr, nullptr, nullptr, NanOrderHandler},
       NanOrderTypes(),
       "",
       "The largest elements of rows with NaN; TopKV2 is compiled to it."},
      {"onexpu.non_max_suppression",
       "NonMaxSuppressionV2, NonMaxSuppressionV3, NonMaxSuppressionV4",
       {nullptr, nullptr, nullptr, NonMaxSuppressionHandler},
       {"float32"},
       "iou_threshold: f32, score_threshold: f32",
       "Boxes of high scores that cover none another; data-dependent size."},
      {"onexpu.partition",
       "DynamicPartition",
       {nullptr, nullptr, nullptr, PartitionHandler},
       {"int32"},
       "",
       "The order that puts rows into partitions; data-dependent sizes."},
      {"onexpu.partition_rows",
       "",
       {nullptr, nullptr, nullptr, PartitionRowsHandler},
       {},
       "",
       "The rows of partitions, in that order."},
      {"onexpu.random",
       "RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt, "
       "StatelessRandomUniform, StatelessRandomNormal, StatelessTruncatedNormal, "
       "StatelessRandomUniformInt, StatelessRandomUniformFullInt, StatelessRandomUniformV2, "
       "StatelessRandomNormalV2, StatelessTruncatedNormalV2, StatelessRandomUniformIntV2, "
       "StatelessRandomUniformFullIntV2",
       {nullptr, nullptr, nullptr, RandomHandler},
       RandomTypes(),
       "distribution: string ('uniform', 'normal', 'truncated_normal', 'integers' or 'bits'), key: "
       "i64, "
       "counter_low: i64, counter_high: i64, low: i64, high: i64",
       "Random numbers of a Philox stream."},
      {"onexpu.random_gamma",
       "StatelessRandomGammaV2, StatelessRandomGammaV3",
       {nullptr, nullptr, nullptr, RandomGammaHandler},
       {"float16", "float32", "float64"},
       "key: i64, counter_low: i64, counter_high: i64",
       "Gamma numbers of a Philox stream."},
      {"onexpu.random_binomial",
       "",
       {nullptr, nullptr, nullptr, RandomBinomialHandler},
       {"float16", "float32", "float64"},
       "key: i64, counter_low: i64, counter_high: i64",
       "Binomial numbers of a Philox stream; StatefulRandomBinomial and StatelessRandomBinomial "
       "are "
       "compiled to it."},
      {"onexpu.random_between",
       "ParameterizedTruncatedNormal, StatelessParameterizedTruncatedNormal",
       {nullptr, nullptr, nullptr, RandomBetweenHandler},
       {"float16", "float32", "float64"},
       "key: i64, counter_low: i64, counter_high: i64, dimensions: array of i64, strides: array of "
       "i64",
       "Normal numbers between bounds, of a Philox stream."},
      {"onexpu.segment_check",
       "",
       {nullptr, nullptr, nullptr, SegmentCheckHandler},
       {"int32", "int64"},
       "data_rows: i64",
       "Whether numbers of segments ascend and indices are within bounds."},
      {"onexpu.segment_grad",
       "SparseSegmentSumGradV2, SparseSegmentMeanGradV2, SparseSegmentSqrtNGradV2",
       {nullptr, nullptr, nullptr, SegmentGradHandler},
       SegmentGradTypes(),
       "rows: i64, combiner: string ('sum', 'mean' or 'sqrtn')",
       "Gradients of reductions of rows that indices pick; data-dependent size."},
      {"onexpu.segment_reduce",
       "SegmentSum, SegmentMean, SegmentProd, SegmentMin, SegmentMax, SparseSegmentSum, "
       "SparseSegmentMean, SparseSegmentSqrtN",
       {nullptr, nullptr, nullptr, SegmentReduceHandler},
       SegmentReduceTypes(),
       "combiner: string ('sum', 'mean', 'sqrtn', 'prod', 'min' or 'max')",
       "Reductions of runs of rows, or of rows that indices pick."},
      {"onexpu.sparse_apply",
       "ResourceSparseApplyAdagrad, ResourceSparseApplyAdagradV2, "
       "ResourceSparseApplyProximalAdagrad, "
       "ResourceSparseApplyAdadelta, ResourceSparseApplyFtrl, ResourceSparseApplyFtrlV2, "
       "ResourceSparseApplyKerasMomentum",
       {nullptr, nullptr, nullptr, SparseApplyHandler},
       SparseApplyTypes(),
       "rule: string ('adagrad', 'adagrad_v2', 'proximal_adagrad', 'adadelta', 'ftrl', 'ftrl_v2' "
       "or "
       "'keras_momentum'), flag: i64",
       "Optimisers' updates of the rows that indices pick."},
      {"onexpu.sparse_concat",
       "SparseConcat",
       {nullptr, nullptr, nullptr, SparseConcatHandler},
       {},
       "dimension: i64, offsets: i64[tensors]",
       "Sparse tensors one after the other."},
      {"onexpu.sparse_matmul",
       "SparseTensorDenseMatMul",
       {nullptr, nullptr, nullptr, SparseMatmulHandler},
       SparseMatmulTypes(),
       "adjoint_a: i64, adjoint_b: i64",
       "Products of sparse and dense matrices."},
      {"onexpu.sparse_reorder",
       "SparseReorder",
       {nullptr, nullptr, nullptr, SparseReorderHandler},
       {},
       "shape: i64[rank]",
       "A sparse tensor's elements in row-major order."},
      {"onexpu.sparse_reshape",
       "SparseReshape",
       {nullptr, nullptr, nullptr, SparseReshapeHandler},
       {"int64"},
       "from: i64[rank], to: i64[new rank]",
       "A sparse tensor's coordinates in another shape."},
      {"onexpu.sparse_slice",
       "SparseSlice",
       {nullptr, nullptr, nullptr, SparseSliceHandler},
       {},
       "start: i64[rank], size: i64[rank]",
       "A box of a sparse tensor; data-dependent size."},
      {"onexpu.sparse_slice_grad",
       "SparseSliceGrad",
       {nullptr, nullptr, nullptr, SparseSliceGradHandler},
       {},
       "",
       "The gradient of sparse_slice."},
      {"onexpu.sparse_split",
       "SparseSplit",
       {nullptr, nullptr, nullptr, SparseSplitHandler},
       {},
       "dimension: i64, extent: i64",
       "The order of a sparse tensor's elements by equal pieces; data-dependent sizes."},
      {"onexpu.sparse_split_elements",
       "",
       {nullptr, nullptr, nullptr, SparseSplitElementsHandler},
       {},
       "dimension: i64, extent: i64",
       "The elements of equal pieces, in that order."},
      {"onexpu.stitch_rows",
       "DynamicStitch, ParallelDynamicStitch",
       {nullptr, nullptr, nullptr, StitchRowsHandler},
       {},
       "",
       "Rows of several arrays, merged by index."},
      {"onexpu.tridiagonal_solve",
       "",
       {nullptr, nullptr, nullptr, TridiagonalSolveHandler},
       TridiagonalSolveTypes(),
       "partial_pivoting: bool",
       "Solutions of tridiagonal systems; TridiagonalSolve is compiled to it."},
      {"onexpu.unique",
       "Unique, UniqueWithCounts",
       {nullptr, nullptr, nullptr, UniqueHandler},
       UniqueTypes(),
       "",
       "Distinct elements of a vector, where each element's is and how often it comes; "
       "data-dependent size."},
      {"onexpu.where",
       "Where",
       {nullptr, nullptr, nullptr, WhereHandler},
       WhereTypes(),
       "",
       "Coordinates of the elements that are not zero; data-dependent size."},
      {"onexpu.zeros", "", {nullptr, nullptr, nullptr, ZerosHandler}, {}, "", "Zeros."},
  };
  return *kernels;
}

uint64_t CustomKernelLaunches() { return KernelLaunches(); }

absl::Status RegisterBuiltinKernels(const XLA_FFI_Api* api, uint32_t traits) {
  absl::Status status = RegisterKernelTargetTypes(api);
  if (!status.ok()) return status;
  for (const BuiltinKernel& kernel : BuiltinKernels()) {
    status = StatusFromFfi(api, ::xla::ffi::Ffi::RegisterStaticHandler(api, kernel.target, "xpu",
                                                                       kernel.bundle, traits));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onexpu
