// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_CONTEXT_HPP
#define FRECHET_SRC_CONTEXT_HPP

#include <frechet/detail/batch.hpp>
#include <frechet/detail/exec.hpp>

#include "poison.hpp"

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace frechet::detail {

/// Scratch memory with stack discipline: take() inside a Scope, all of it free again when the Scope ends. Work
/// submitted to one execution-space instance runs in order, so memory can be handed out again while older work still
/// uses it. Grows when it must; after the outermost Scope the pieces are merged into one, so a steady state allocates
/// nothing.
template <class Space>
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  /// `bytes` of memory, aligned to 128 bytes, never null.
  void* take(std::size_t bytes) {
    const std::size_t asked = bytes;
    bytes = (bytes + 127) / 128 * 128 + 128;  // the tail keeps neighbours off shared cache lines
    if (chunks_.empty() || used_ + bytes > chunks_.back().size) add_chunk(bytes);
    void* p = chunks_.back().data + used_;
    asan_unpoison<Space>(p, asked);
    used_ += bytes;
    total_ += bytes;
    peak_ = total_ > peak_ ? total_ : peak_;
    return p;
  }

  /// Bytes held.
  std::size_t capacity() const {
    std::size_t sum = 0;
    for (const Chunk& c : chunks_) sum += c.size;
    return sum;
  }

  struct Mark {
    std::size_t chunk, used, total;
  };
  Mark mark() const { return {chunks_.size(), used_, total_}; }

  /// Back to a mark. Chunks added since stay until the outermost Scope has ended.
  template <class Exec>
  void rewind(const Mark& m, const Exec& exec) {
    total_ = m.total;
    if (m.chunk == chunks_.size()) {
      used_ = m.used;
      if (!chunks_.empty()) asan_poison<Space>(chunks_.back().data + used_, chunks_.back().size - used_);
    } else if (m.total == 0 && chunks_.size() == 1) {
      used_ = 0;
      asan_poison<Space>(chunks_.back().data, chunks_.back().size);
    } else if (m.total == 0) {  // outermost: merge. Older work may still use the chunks.
      exec.fence("frechet::Arena: growing the workspace");
      const std::size_t need = peak_;
      release();
      try {  // a Scope ends here, maybe while an exception passes; where memory is short take() will try again
        add_chunk(need);
      } catch (const std::exception&) {
        used_ = 0;
      }
    }
  }

 private:
  struct Chunk {
    char* data;
    std::size_t size;
  };
  void add_chunk(std::size_t bytes) {
    const std::size_t size = bytes < minimum ? minimum : bytes;
    auto* data = static_cast<char*>(Kokkos::kokkos_malloc<Space>("frechet::workspace", size));
    chunks_.push_back({data, size});
    asan_poison<Space>(data, size);
    used_ = 0;
  }
  void release() {
    for (const Chunk& c : chunks_) {
      asan_unpoison<Space>(c.data, c.size);
      Kokkos::kokkos_free<Space>(c.data);
    }
    chunks_.clear();
    used_ = 0;
  }

  static constexpr std::size_t minimum = 1 << 16;
  std::vector<Chunk> chunks_;
  std::size_t used_ = 0, total_ = 0, peak_ = 0;
};

/// What a call of the library works with: the execution-space instance and scratch memory. Not for two threads at once.
template <class Exec>
class Context {
 public:
  using memory_space = typename Exec::memory_space;

  explicit Context(Exec exec) : exec_(std::move(exec)) {}
  const Exec& exec() const { return exec_; }

  /// Whether loops run as plain loops on the calling thread (the caller passed a host instance without threads).
  bool inline_loops() const { return inline_loops_; }
  void set_inline_loops(bool on) { inline_loops_ = on; }

  Arena<memory_space>& arena() { return arena_; }

  template <class T>
  T* take(std::size_t n) {
    return static_cast<T*>(arena_.take(n * sizeof(T)));
  }
  /// Uninitialised scratch matrices.
  template <class S>
  Batch<S> matrix(int rows, int cols, int count) {
    const int ld = rows > 0 ? rows : 1;
    const std::int64_t stride = std::int64_t(ld) * cols;
    return {take<S>(static_cast<std::size_t>(stride) * count), rows, cols, ld, count, stride};
  }
  template <class S>
  requires is_dual<S> Batch<S> matrix(int rows, int cols, int count) {
    using T = typename PartOf<S>::type;
    const auto value = matrix<T>(rows, cols, count);
    return {value, matrix<T>(rows, cols, count)};
  }

 private:
  Exec exec_;
  bool inline_loops_ = false;
  Arena<memory_space> arena_;
};

/// Frees the scratch taken during its lifetime.
template <class Exec>
class Scope {
 public:
  explicit Scope(Context<Exec>& ctx) : ctx_(ctx), mark_(ctx.arena().mark()) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { ctx_.arena().rewind(mark_, ctx_.exec()); }

 private:
  Context<Exec>& ctx_;
  typename Arena<typename Exec::memory_space>::Mark mark_;
};

/// Borrows a Context for the instance from a process-wide pool for the duration of one call. Safe from several threads:
/// each concurrent call gets its own Context. The pool is emptied by a Kokkos finalize hook.
template <class Exec>
class Borrowed {
 public:
  explicit Borrowed(const Instance<Exec>& instance);
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed();
  Context<Exec>& operator*() { return *context_; }

 private:
  std::unique_ptr<Context<Exec>> context_;
};

}  // namespace frechet::detail

#endif
