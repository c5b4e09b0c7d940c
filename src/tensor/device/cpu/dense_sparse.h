#pragma once

#include <memory>

#include "os/thread_pool.h"
#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

std::unique_ptr<Kernel> make_sparse_dense(const DenseSpec& spec, ThreadPool& pool);

}  // namespace lockstep
