// Sparse matrices in compressed rows (CSR), for kernel sources.
//
// The rows of all batches count as one sequence. Batch b has row pointers of its own, from 0 on;
// its elements begin at batch_begins[b], which is null where there is one batch.
#pragma once

// As csr_structure.h has it.
struct CsrSizes {
  std::int64_t batches, rows, columns, elements;
  std::int32_t rank;  // of coordinates: 2, or 3 with the batch
  std::int32_t conjugate;
};

// Elements of a row, or of several.
struct Elements {
  std::int64_t begin, end;
};

// How many of `n` ascending numbers are less than `bound`.
template <typename Number>
inline std::int64_t count_below(const Number* numbers, std::int64_t n, std::int64_t bound) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (std::int64_t(numbers[middle]) < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Iterates over elements and tracks the row and batch of each.
struct CsrCursor {
  const std::int32_t* row_pointers;
  const std::int64_t* batch_begins;
  std::int64_t batches, rows;
  std::int64_t batch = 0, row = 0, begin = 0;  // of the batch: where it begins

  const std::int32_t* pointers() const { return row_pointers + batch * (rows + 1); }

  void start(std::int64_t i) {
    if (batch_begins != nullptr) {
      batch = count_below(batch_begins, batches, i + 1) - 1;
      begin = batch_begins[batch];
    }
    row = count_below(pointers(), rows + 1, i - begin + 1) - 1;
  }

  // To an element after the last one.
  void go_to(std::int64_t i) {
    while (i - begin >= pointers()[rows]) {
      begin += pointers()[rows];
      ++batch;
      row = 0;
    }
    while (i - begin >= pointers()[row + 1]) ++row;
  }
};
