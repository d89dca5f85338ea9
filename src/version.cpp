// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/version.hpp>

#include "instantiate.hpp"

#include <backend.hpp>

namespace frechet {

const char* host_backend() { return backend::name<Kokkos::DefaultHostExecutionSpace>(); }

const char* device_backend() {
  const char* name = "none";
#define FRECHET_DEVICE_BACKEND_NAME(EXEC) name = backend::name<EXEC>();
  FRECHET_FOR_EACH_DEVICE_EXEC(FRECHET_DEVICE_BACKEND_NAME)
  return name;
}

}  // namespace frechet
