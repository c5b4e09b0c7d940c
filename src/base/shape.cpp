#include "base/shape.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {

Shape::Shape(std::initializer_list<int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  ENSURE(rank_ <= max_rank);
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) product *= (*this)[axis];
  return product;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ &&
         std::equal(extents_.begin(), extents_.begin() + rank_, other.extents_.begin());
}

std::string Shape::text() const {
  std::string joined;
  for (int axis = 0; axis < rank_; ++axis)
    joined += (axis ? "x" : "") + std::to_string((*this)[axis]);
  return joined;
}

}  // namespace lockstep
