// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_VERSION_HPP
#define FRECHET_VERSION_HPP

#define FRECHET_VERSION_MAJOR 0
#define FRECHET_VERSION_MINOR 1
#define FRECHET_VERSION_PATCH 0

namespace frechet {

/// The backend behind host Views in this build: "lapack" or "reference".
const char* host_backend();

}  // namespace frechet

#endif
