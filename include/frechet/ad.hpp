// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_HPP
#define FRECHET_AD_HPP

/// Level 2: whole functions, traced and differentiated.

#include <frechet/ad/check_derivatives.hpp>
#include <frechet/ad/context.hpp>

#endif
