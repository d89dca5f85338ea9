// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_FRECHET_HPP
#define FRECHET_FRECHET_HPP

/// Everything: the operations with their derivative rules (level 1) and AdContext (level 2).

#include <frechet/ad.hpp>
#include <frechet/check.hpp>
#include <frechet/eigh.hpp>
#include <frechet/lu.hpp>
#include <frechet/qr.hpp>
#include <frechet/solve.hpp>
#include <frechet/svd.hpp>
#include <frechet/version.hpp>

#endif
