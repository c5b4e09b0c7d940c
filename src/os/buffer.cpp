#include "os/buffer.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lockstep {

namespace {

constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t worth_mapping = size_t{64} << 10;
// Another process copies from huge pages twice as fast.
constexpr size_t worth_huge_pages = size_t{256} << 10;

std::atomic<bool> hardly_touched = false;

// Maps whole pages, aligned to a huge page if there is room for one.
std::byte* map(size_t bytes, size_t& mapped) {
  const size_t slack = bytes >= huge_page ? huge_page : 0;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (hardly_touched ? MAP_NORESERVE : 0);
  void* memory = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(memory);
  if (slack > 0) {  // unmap what lies before and after the aligned part
    const size_t address = reinterpret_cast<size_t>(first);
    const size_t before = round_up(address, huge_page) - address;
    if (before > 0) ::munmap(first, before);
    if (before < slack) ::munmap(first + before + bytes, slack - before);
    first += before;
    ::madvise(first, bytes, MADV_HUGEPAGE);
  }
  mapped = bytes;
  return first;
}

}  // namespace

void expect_untouched_buffers() { hardly_touched = true; }

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  FreeMemory free;
  std::byte* memory = nullptr;
  if (bytes >= worth_mapping) {
    memory = map(round_up(bytes, bytes >= worth_huge_pages ? huge_page : 4096), free.mapped);
  } else {
    const size_t rounded = round_up(bytes == 0 ? 1 : bytes, cache_line);
    memory = static_cast<std::byte*>(std::aligned_alloc(cache_line, rounded));
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, rounded);
  }
  memory_ = {memory, free};
}

void FreeMemory::operator()(std::byte* memory) const {
  if (mapped > 0)
    ::munmap(memory, mapped);
  else
    std::free(memory);
}

}  // namespace lockstep
