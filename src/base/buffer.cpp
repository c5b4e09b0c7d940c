#include "base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace lockstep {

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  constexpr size_t huge_page = size_t{2} << 20;
  const size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const size_t rounded = round_up(bytes == 0 ? 1 : bytes, alignment);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!memory_) throw std::bad_alloc();
  if (alignment == huge_page) ::madvise(memory_.get(), rounded, MADV_HUGEPAGE);
  std::memset(memory_.get(), 0, rounded);
}

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace lockstep
