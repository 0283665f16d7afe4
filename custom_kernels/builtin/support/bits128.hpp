// 16 bytes of whatever type, for kernel sources that move elements.
#pragma once

struct Bits128 {
  std::uint64_t low, high;
};
