// The structure of sparse matrices in compressed rows: made from coordinates, turned into
// coordinates and dense matrices, transposed. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/csr/csr.hpp"
#include "custom_kernels/builtin/support/complex.hpp"

namespace {

struct Cell {
  std::int64_t batch, row, column;
  std::int64_t number;  // of the row, of all batches, or -1 outside of the matrix
};

inline Cell cell_at(const std::int64_t* coordinates, std::int64_t i, const CsrSizes& sizes) {
  const std::int64_t* const at = coordinates + i * sizes.rank;
  const std::int64_t batch = sizes.rank == 3 ? at[0] : 0;
  const std::int64_t row = at[sizes.rank - 2], column = at[sizes.rank - 1];
  const bool is_inside = batch >= 0 && batch < sizes.batches && row >= 0 && row < sizes.rows &&
                         column >= 0 && column < sizes.columns;
  return {batch, row, column, is_inside ? batch * sizes.rows + row : -1};
}

}  // namespace

// A work-item per batch.
ONEXPU_KERNEL void csr_batch_lengths(const std::int32_t* row_pointers, std::int64_t* lengths,
                                     CsrSizes sizes) {
  const std::int64_t batch = std::int64_t(onexpu::global_id());
  lengths[batch] = row_pointers[batch * (sizes.rows + 1) + sizes.rows];
}

// A work-item per chunk of elements: columns, and how many elements come before each row of all
// batches and the end. Into `counts`: how many elements are outside, and, times 2^32, how many come
// too late.
ONEXPU_KERNEL void csr_compress_rows(const std::int64_t* coordinates, std::int32_t* column_indices,
                                     std::int32_t* row_begins, std::int64_t* counts,
                                     std::int64_t chunk, CsrSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * chunk;
  const std::int64_t last = sycl::min(first + chunk, sizes.elements);
  Cell before = {0, 0, 0, -1};
  if (first > 0) before = cell_at(coordinates, first - 1, sizes);
  std::int64_t count = 0;
  // Every row is written once. If an index is out of range or out of order, no row is written.
  const auto begin_rows = [&](std::int64_t end, std::int64_t i) {
    for (std::int64_t row = before.number + 1; count == 0 && row < end; ++row)
      row_begins[row] = std::int32_t(i);
  };
  for (std::int64_t i = first; i < last;) {
    Cell cell = cell_at(coordinates, i, sizes);
    const bool is_late = cell.number < before.number ||
                         (cell.number == before.number && cell.column < before.column);
    count += (cell.number < 0) + (std::int64_t(i > 0 && is_late) << 32);
    begin_rows(cell.number + 1, i);
    column_indices[i++] = std::int32_t(cell.column);
    // Most elements are in the row of the one before and behind it, which takes less to see.
    const std::int64_t* at = coordinates + i * sizes.rank;
    for (; cell.number >= 0 && i < last; ++i, at += sizes.rank) {
      const std::int64_t column = at[sizes.rank - 1];
      const bool goes_on = (sizes.rank == 2 || at[0] == cell.batch) &&
                           at[sizes.rank - 2] == cell.row && column >= cell.column &&
                           column < sizes.columns;
      if (!goes_on) break;
      cell.column = column;
      column_indices[i] = std::int32_t(column);
    }
    before = cell;
  }
  if (last == sizes.elements) begin_rows(sizes.batches * sizes.rows + 1, last);
  counts[onexpu::global_id()] = count;
}

// A work-item per row pointer. The elements of each batch are counted, too, unless `totals` is
// null.
template <typename Number>
ONEXPU_KERNEL void csr_row_pointers(const Number* row_begins, std::int32_t* row_pointers,
                                    std::int64_t* totals, CsrSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t batch = sizes.batches == 1 ? 0 : id / (sizes.rows + 1);
  const std::int64_t row = id - batch * (sizes.rows + 1), first = batch * sizes.rows;
  const std::int64_t pointer = std::int64_t(row_begins[first + row] - row_begins[first]);
  row_pointers[id] = std::int32_t(pointer);
  if (totals != nullptr && row == sizes.rows) totals[batch] = pointer;
}

// A work-item per element.
template <typename T>
ONEXPU_KERNEL void csr_pick(const T* dense, const std::int64_t* coordinates, T* values,
                            CsrSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const Cell cell = cell_at(coordinates, i, sizes);
  values[i] = cell.number < 0 ? T{} : dense[cell.number * sizes.columns + cell.column];
}

// A work-item per chunk of elements.
ONEXPU_KERNEL void csr_coordinates(const std::int32_t* row_pointers,
                                   const std::int32_t* column_indices,
                                   const std::int64_t* batch_begins, std::int64_t* coordinates,
                                   std::int64_t chunk, CsrSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * chunk;
  const std::int64_t last = sycl::min(first + chunk, sizes.elements);
  CsrCursor cursor = {row_pointers, batch_begins, sizes.batches, sizes.rows};
  cursor.start(first);
  for (std::int64_t i = first; i < last; ++i) {
    cursor.go_to(i);
    std::int64_t* const at = coordinates + i * sizes.rank;
    if (sizes.rank == 3) at[0] = cursor.batch;
    at[sizes.rank - 2] = cursor.row;
    at[sizes.rank - 1] = column_indices[i];
  }
}

// A work-item per row: of elements at one place the last one counts. The result is zero before.
template <typename T>
ONEXPU_KERNEL void csr_to_dense(const std::int32_t* row_pointers,
                                const std::int32_t* column_indices, const T* values,
                                const std::int64_t* batch_begins, T* dense, CsrSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id());
  const std::int64_t batch = row / sizes.rows;
  const std::int64_t begin = batch_begins == nullptr ? 0 : batch_begins[batch];
  const std::int32_t* const pointers = row_pointers + row + batch;
  for (std::int64_t i = begin + pointers[0]; i < begin + pointers[1]; ++i) {
    const std::int64_t column = column_indices[i];
    if (column >= 0 && column < sizes.columns) dense[row * sizes.columns + column] = values[i];
  }
}

// A work-item per chunk of elements: the row of each in the transposed matrix, of all batches, and
// its column there.
ONEXPU_KERNEL void csr_turn(const std::int32_t* row_pointers, const std::int32_t* column_indices,
                            const std::int64_t* batch_begins, std::int32_t* rows,
                            std::int32_t* columns, std::int64_t chunk, CsrSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * chunk;
  const std::int64_t last = sycl::min(first + chunk, sizes.elements);
  CsrCursor cursor = {row_pointers, batch_begins, sizes.batches, sizes.rows};
  cursor.start(first);
  for (std::int64_t i = first; i < last; ++i) {
    cursor.go_to(i);
    rows[i] = std::int32_t(cursor.batch * sizes.columns + column_indices[i]);
    columns[i] = std::int32_t(cursor.row);
  }
}

// A work-item per element of the transposed matrix.
template <typename T>
ONEXPU_KERNEL void csr_move(const std::uint32_t* places, const std::int32_t* columns,
                            const T* values, std::int32_t* new_columns, T* new_values,
                            CsrSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::uint32_t from = places[i];
  new_columns[i] = columns[from];
  new_values[i] = sizes.conjugate ? conjugate(values[from]) : values[from];
}

// The transposed matrix of one batch at once: a work-item per chunk of elements, with places of its
// own for each column (see CountedKinds).
template <typename T>
ONEXPU_KERNEL void csr_transpose(const std::int32_t* row_pointers,
                                 const std::int32_t* column_indices, const T* values,
                                 std::uint32_t* counts, const std::int64_t* begins,
                                 std::int32_t* new_columns, T* new_values, std::int64_t chunk,
                                 CsrSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t first = id * chunk, last = sycl::min(first + chunk, sizes.elements);
  std::uint32_t* const next = counts + id * (sizes.columns + 1);
  for (std::int64_t k = 0; k <= sizes.columns; ++k) next[k] += std::uint32_t(begins[k]);
  CsrCursor cursor = {row_pointers, nullptr, sizes.batches, sizes.rows};
  cursor.start(first);
  for (std::int64_t i = first; i < last; ++cursor.row) {
    const std::int64_t end = sycl::min(last, std::int64_t(row_pointers[cursor.row + 1]));
    for (; i < end; ++i) {
      const std::int64_t column = column_indices[i];
      const bool is_inside = column >= 0 && column < sizes.columns;
      const std::uint32_t to = next[is_inside ? column : sizes.columns]++;
      new_columns[to] = std::int32_t(cursor.row);
      new_values[to] = sizes.conjugate ? conjugate(values[i]) : values[i];
    }
  }
}
