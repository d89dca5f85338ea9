// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.hpp"

#include "instantiate.hpp"

#include <mutex>

namespace frechet::detail {
namespace {

template <class Exec>
struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Context<Exec>>> idle;
};

template <class Exec>
Pool<Exec>& pool() {
  // Never destroyed: the finalize hook empties it while Kokkos still runs.
  static auto* the_pool = [] {
    auto* p = new Pool<Exec>;
    Kokkos::push_finalize_hook([p] {
      const std::lock_guard lock(p->mutex);
      p->idle.clear();
    });
    return p;
  }();
  return *the_pool;
}

}  // namespace

template <class Exec>
Borrowed<Exec>::Borrowed(const Instance<Exec>& instance) {
  auto& p = pool<Exec>();
  {
    const std::lock_guard lock(p.mutex);
    for (std::size_t i = p.idle.size(); i-- > 0;)
      if (p.idle[i]->exec() == instance.exec) {
        context_ = std::move(p.idle[i]);
        p.idle[i] = std::move(p.idle.back());
        p.idle.pop_back();
        break;
      }
  }
  if (!context_) context_ = std::make_unique<Context<Exec>>(instance.exec);
  context_->set_inline_loops(instance.inline_loops);
}

template <class Exec>
Borrowed<Exec>::~Borrowed() {
  auto& p = pool<Exec>();
  const std::lock_guard lock(p.mutex);
  p.idle.push_back(std::move(context_));
}

#define FRECHET_BORROWED(Exec) template class Borrowed<Exec>;
FRECHET_FOR_EACH_EXEC(FRECHET_BORROWED)

}  // namespace frechet::detail
