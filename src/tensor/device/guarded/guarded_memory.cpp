#include "tensor/device/guarded/guarded_memory.h"

#include <sys/mman.h>

#include <new>

#include "base/error.h"

namespace lockstep {

std::byte* GuardedMemory::reserve(size_t bytes) {
  // One extra page, so that the end of a range belongs to it too.
  const size_t reserved = round_up(bytes, 4096) + 4096;
  void* address =
      ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(address);
  const std::lock_guard lock(mutex_);
  ranges_.emplace(first, Range{reserved, Buffer(bytes)});
  return first;
}

void GuardedMemory::release(std::byte* address) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(address);
  ENSURE(found != ranges_.end());
  ::munmap(address, found->second.bytes);
  ranges_.erase(found);
}

std::byte* GuardedMemory::find(const std::byte* address, const char* operand) const {
  if (!address) return nullptr;
  const std::lock_guard lock(mutex_);
  auto range = ranges_.upper_bound(address);
  const bool known = range != ranges_.begin() && address < (--range)->first + range->second.bytes;
  if (!known) throw Failure("the device was given memory of the host as '{}'", operand);
  return range->second.buffer.data() + (address - range->first);
}

bool GuardedMemory::holds(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  auto range = ranges_.upper_bound(address);
  return range != ranges_.begin() && address < (--range)->first + range->second.bytes;
}

void GuardedMemory::expect_host(const void* address, const char* operand) const {
  if (holds(static_cast<const std::byte*>(address)))
    throw Failure("the host was given memory of the device as '{}'", operand);
}

}  // namespace lockstep
