// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_AD_RULED_HPP
#define FRECHET_SRC_AD_RULED_HPP

#include <frechet/ad/traced.hpp>

namespace frechet::detail {

/// An operation whose vjp is the text Self::pull<T>, with T = S or Dual<S>.
template <class Exec, class S, class Self>
struct Ruled : Operation<Exec> {
  void vjp(const Call<Exec>& c) const override { static_cast<const Self&>(*this).template pull<S>(c); }
  void hvp(const Call<Exec>& c) const override { static_cast<const Self&>(*this).template pull<Dual<S>>(c); }
};

}  // namespace frechet::detail

#endif
