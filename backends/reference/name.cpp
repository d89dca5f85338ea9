// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"

#include <backend.hpp>

namespace frechet::backend {

template <class Exec>
const char* name() {
  return "reference";
}

#define FRECHET_NAME(Exec) template const char* name<Exec>();
FRECHET_FOR_EACH_EXEC(FRECHET_NAME)

}  // namespace frechet::backend
