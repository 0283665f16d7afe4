// The k largest elements of rows that contain NaN, in the order of TensorFlow's CPU kernel. Kernel
// source: built by sycl_kernels, see BUILD.
//
// TensorFlow compares with <, under which NaN is neither above nor below anything. So the result
// depends on the steps of the algorithm, and the kernel repeats them: introsort for whole rows, a
// heap for k elements, a scan for one. A work-item takes a row.

struct NanOrderSizes {
  std::int64_t columns, count;  // elements of a row, before and after
};

namespace {

using Index = std::int32_t;

// Positions of a row's elements while they are ordered. The heap of k elements takes in one more
// before it gives one up, for which the result has no room.
struct Positions {
  Index* kept;
  Index count;
  Index spare;
  Index& operator[](Index i) { return i < count ? kept[i] : spare; }
};

// Whether the element at `a` belongs before that at `b`.
template <typename T>
struct IsLarger {
  const T* row;
  bool operator()(Index a, Index b) const {
    return onexpu::wide<T>(row[b]) < onexpu::wide<T>(row[a]);
  }
};
template <typename T>
struct IsLargerOrFirst {
  const T* row;
  bool operator()(Index a, Index b) const {
    const onexpu::wide<T> x = onexpu::wide<T>(row[a]), y = onexpu::wide<T>(row[b]);
    return y < x || (!(y > x) && a < b);
  }
};
struct IsFirst {
  bool operator()(Index a, Index b) const { return a < b; }
};

// A heap whose root is what belongs last, in positions [first, first + size).
template <typename Before>
struct Heap {
  Positions& positions;
  Index first;
  Before before;

  Index& at(Index i) { return positions[first + i]; }

  // Moves `value` from the hole at `hole` towards the root, at most to `top`.
  void rise(Index hole, Index top, Index value) {
    while (hole > top) {
      const Index parent = (hole - 1) / 2;
      if (!before(at(parent), value)) break;
      at(hole) = at(parent);
      hole = parent;
    }
    at(hole) = value;
  }

  // Fills the hole at `top` with children down to a leaf, then lets `value` rise from there.
  void sink(Index top, Index size, Index value) {
    Index hole = top;
    while (2 * hole + 2 < size) {
      Index child = 2 * hole + 2;
      if (before(at(child), at(child - 1))) --child;
      at(hole) = at(child);
      hole = child;
    }
    if (2 * hole + 2 == size) {
      at(hole) = at(size - 1);
      hole = size - 1;
    }
    rise(hole, top, value);
  }

  void make(Index size) {
    for (Index i = size / 2 - 1; i >= 0; --i) sink(i, size, at(i));
  }

  // Moves the root behind the others.
  void pop(Index size) {
    if (size < 2) return;
    const Index value = at(size - 1);
    at(size - 1) = at(0);
    sink(0, size - 1, value);
  }

  void sort(Index size) {
    for (; size > 1; --size) pop(size);
  }
};

// Moves position `i` towards `first` until the one before it does not belong behind it.
template <typename Before>
inline void insert(Positions& positions, Index first, Index i, Before before) {
  const Index value = positions[i];
  for (; i > first && before(value, positions[i - 1]); --i) positions[i] = positions[i - 1];
  positions[i] = value;
}

inline void swap(Positions& positions, Index a, Index b) {
  const Index kept = positions[a];
  positions[a] = positions[b];
  positions[b] = kept;
}

// Partitions [first, last) by the median of its second, middle and last element, which it moves to
// `first`; returns where the second part begins.
template <typename Before>
inline Index partition(Positions& positions, Index first, Index last, Before before) {
  const Index a = first + 1, b = first + (last - first) / 2, c = last - 1;
  const auto is_before = [&](Index i, Index j) { return before(positions[i], positions[j]); };
  Index median;
  if (is_before(a, b)) {
    median = is_before(b, c) ? b : is_before(a, c) ? c : a;
  } else {
    median = is_before(a, c) ? a : is_before(b, c) ? c : b;
  }
  swap(positions, first, median);
  Index low = first + 1, high = last;
  while (true) {
    while (is_before(low, first)) ++low;
    --high;
    while (is_before(first, high)) --high;
    if (low >= high) return low;
    swap(positions, low, high);
    ++low;
  }
}

// Introsort of [first, last) with insertion for short ranges, without recursion.
template <typename Before>
void sort(Positions& positions, Index first, Index last, Before before) {
  constexpr Index kMaxInsertionSortLength = 16;
  struct Range {
    Index first, last, depth;
  };
  Index depth = 0;
  for (Index size = last - first; size > 1; size /= 2) depth += 2;
  // A range waits for each halving of those before it.
  Range waiting[64];
  int count = 0;
  waiting[count++] = {first, last, depth};
  while (count > 0) {
    Range range = waiting[--count];
    while (range.last - range.first > kMaxInsertionSortLength) {
      if (range.depth-- == 0) {
        Heap<Before> heap{positions, range.first, before};
        heap.make(range.last - range.first);
        heap.sort(range.last - range.first);
        break;
      }
      const Index cut = partition(positions, range.first, range.last, before);
      waiting[count++] = {cut, range.last, range.depth};
      range.last = cut;
    }
  }
  const Index careful =
      last - first > kMaxInsertionSortLength ? first + kMaxInsertionSortLength : last;
  for (Index i = first + 1; i < careful; ++i) {
    // The first ones compare with the head of the range before they look for their place.
    if (before(positions[i], positions[first])) {
      const Index value = positions[i];
      for (Index j = i; j > first; --j) positions[j] = positions[j - 1];
      positions[first] = value;
    } else {
      insert(positions, first, i, before);
    }
  }
  for (Index i = careful; i < last; ++i) insert(positions, first, i, before);
}

// The position of the largest element. TensorFlow's reduction skips NaN in vectors of 32 bytes; of
// the elements behind the last vector, the one after a NaN counts as larger.
template <typename T>
inline Index largest(const T* row, Index columns) {
  using Wide = onexpu::wide<T>;
  constexpr Index kVector = sizeof(T) == 2 ? 8 : 32 / sizeof(T);
  const Wide lowest = -std::numeric_limits<Wide>::infinity();
  Wide in_vectors = lowest, behind = lowest;
  const Index whole = columns / kVector * kVector;
  for (Index i = 0; i < whole; ++i) {
    const Wide x = Wide(row[i]);
    if (x > in_vectors) in_vectors = x;
  }
  for (Index i = whole; i < columns; ++i) {
    const Wide x = Wide(row[i]);
    if (!(x < behind)) behind = x;
  }
  const Wide found = behind < in_vectors ? in_vectors : behind;
  for (Index i = 0; i < columns; ++i) {
    if (Wide(row[i]) == found) return i;
  }
  return 0;
}

}  // namespace

// `rows` [., sizes.columns]; `values` and `positions` [., sizes.count] hold the largest elements in
// an order in which NaN comes first, so that the first value tells whether there is one. `extents`:
// how many elements and results of a row count.
template <typename T>
ONEXPU_KERNEL void nan_order(const T* rows, const std::int32_t* extents, T* values,
                             std::int32_t* positions, NanOrderSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  T* const own_values = values + id * sizes.count;
  const onexpu::wide<T> first = onexpu::wide<T>(own_values[0]);
  if (first == first) return;
  const T* const row = rows + id * sizes.columns;
  const Index columns = extents[0], count = extents[1] < columns ? extents[1] : columns;
  Positions order{positions + id * sizes.count, count, 0};
  if (count == 1) {
    order[0] = largest(row, columns);
  } else if (count == columns) {
    const IsLarger<T> before{row};
    for (Index i = 0; i < count; ++i) order[i] = i;
    sort(order, 0, count, before);
    // Equal elements that ended side by side, in the order of the row.
    for (Index begin = 0; begin < count;) {
      const onexpu::wide<T> x = onexpu::wide<T>(row[order[begin]]);
      Index end = begin + 1;
      while (end < count && onexpu::wide<T>(row[order[end]]) == x) ++end;
      if (end - begin > 1) sort(order, begin, end, IsFirst{});
      begin = end;
    }
  } else {
    Heap<IsLargerOrFirst<T>> heap{order, 0, {row}};
    for (Index i = 0; i <= count; ++i) order[i] = i;
    heap.make(count + 1);
    heap.pop(count + 1);
    for (Index i = count + 1; i < columns; ++i) {
      if (!heap.before(i, order[0])) continue;
      heap.pop(count);
      heap.rise(count - 1, 0, i);
    }
    heap.sort(count);
  }
  for (Index i = 0; i < count; ++i) own_values[i] = row[order[i]];
}
