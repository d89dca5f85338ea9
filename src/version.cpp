// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/version.hpp>

#include <backend.hpp>

namespace frechet {

const char* host_backend() { return backend::name<Kokkos::DefaultHostExecutionSpace>(); }

}  // namespace frechet
