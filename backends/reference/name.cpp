// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"

#include <backend.hpp>

namespace frechet::backend {

template <class Exec>
const char* name() {
  return "reference";
}

template <class Exec>
const DriverTable& drivers() {
  static const DriverTable table("eigh * * * reference; svd * * * reference; lu * * * reference; qr * * * reference");
  return table;
}

#define FRECHET_NAME(Exec)           \
  template const char* name<Exec>(); \
  template const DriverTable& drivers<Exec>();
FRECHET_REFERENCE_FOR_EACH_EXEC(FRECHET_NAME)

}  // namespace frechet::backend
