// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_VERSION_HPP
#define FRECHET_VERSION_HPP

#define FRECHET_VERSION_MAJOR 0
#define FRECHET_VERSION_MINOR 1
#define FRECHET_VERSION_PATCH 0

namespace frechet {

/// The backend behind host Views in this build: "lapack" or "reference".
const char* host_backend();
/// The backend behind device Views: "cuda" or "reference"; "none" where Kokkos was built without a device.
const char* device_backend();

}  // namespace frechet

#endif
