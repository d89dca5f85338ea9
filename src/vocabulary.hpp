// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_VOCABULARY_HPP
#define FRECHET_SRC_VOCABULARY_HPP

#include "context.hpp"

#include <backend.hpp>

// The words the rules are written in, beside the backend's kernels: loops over entries, reductions over columns and
// matrices. A functor gets (matrix of the batch, row, column). All of them submit to ctx.exec() and do not wait.

namespace frechet::detail {

using backend::Diag;
using backend::Side;
using backend::Uplo;

/// Whether loops are those of a device: a thread for each entry, teams for reductions, never a plain loop. The tests of
/// a device backend without a device (backends/cuda) ask for them on the host.
template <class Exec>
#ifdef FRECHET_DEVICE_LOOPS
inline constexpr bool device_loops = true;
#else
inline constexpr bool device_loops = !is_host<Exec>;
#endif

/// Below this number of entries a host loop runs on the calling thread: starting threads would cost more than it saves.
inline constexpr std::int64_t threads_from = 1 << 15;

template <class Exec>
bool plain_loop(const Context<Exec>& ctx, std::int64_t entries) {
  return !device_loops<Exec> && (ctx.inline_loops() || entries < threads_from);
}

/// Before a loop over entries, which by contract do not depend on each other: an operand may be one of the others, and
/// then a compiler that has to look for itself would use no vectors.
#if defined(__clang__)
#define FRECHET_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define FRECHET_INDEPENDENT _Pragma("GCC ivdep")
#else
#define FRECHET_INDEPENDENT
#endif

/// Host loop over one column: a function of its own, so that it is compiled once for the plain and the parallel loop.
template <class F>
struct EntriesOfColumn {
  F f;
  int rows, cols;
  [[gnu::noinline]] void run(int b, int j) const {
    const F g = f;  // a copy cannot alias what the loop writes
    FRECHET_INDEPENDENT
    for (int i = 0; i < rows; ++i) g(b, i, j);
  }
  void operator()(std::int64_t c) const { run(static_cast<int>(c / cols), static_cast<int>(c % cols)); }
};

template <class F>
struct SingleEntry {
  F f;
  int rows, cols;
  KOKKOS_FUNCTION void operator()(std::int64_t e) const {
    const std::int64_t c = e / rows;
    f(static_cast<int>(c / cols), static_cast<int>(e % rows), static_cast<int>(c % cols));
  }
};

template <class F>
struct SingleColumn {
  F f;
  int cols;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const { f(static_cast<int>(c / cols), static_cast<int>(c % cols)); }
};

/// The same as a host loop; see EntriesOfColumn.
template <class F>
struct ColumnAlone {
  F f;
  int cols;
  [[gnu::noinline]] void run(int b, int j) const { f(b, j); }
  void operator()(std::int64_t c) const { run(static_cast<int>(c / cols), static_cast<int>(c % cols)); }
};

/// f(b, i, j) for every entry.
template <class Exec, class F>
void for_each_entry(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const F& f) {
  const std::int64_t columns = std::int64_t(cols) * count, entries = columns * rows;
  if (entries == 0) return;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  if constexpr (!device_loops<Exec>) {
    const EntriesOfColumn<F> column{f, rows, cols};
    if (!plain_loop(ctx, entries)) return Kokkos::parallel_for(label, Policy(ctx.exec(), 0, columns), column);
    for (int b = 0; b < count; ++b)
      for (int j = 0; j < cols; ++j) column.run(b, j);
  } else {
    Kokkos::parallel_for(label, Policy(ctx.exec(), 0, entries), SingleEntry<F>{f, rows, cols});
  }
}

/// f(b, j) for every column; `rows` only tells how much work a column is.
template <class Exec, class F>
void for_each_column(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const F& f) {
  const std::int64_t columns = std::int64_t(cols) * count;
  if (columns == 0) return;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  if constexpr (!device_loops<Exec>) {
    const ColumnAlone<F> column{f, cols};
    if (!plain_loop(ctx, columns * rows)) return Kokkos::parallel_for(label, Policy(ctx.exec(), 0, columns), column);
    for (int b = 0; b < count; ++b)
      for (int j = 0; j < cols; ++j) column.run(b, j);
  } else {
    Kokkos::parallel_for(label, Policy(ctx.exec(), 0, columns), SingleColumn<F>{f, cols});
  }
}

/// Host loop over a panel of columns, tile by tile: what a function reads at (j, i) is in cache when its neighbours
/// are wanted, though columns apart.
template <class F>
struct TilesOfPanel {
  static constexpr int tile = 8;
  F f;
  int rows, cols;
  void operator()(int b, int panel) const {
    const F g = f;  // see EntriesOfColumn
    const int first = panel * tile, end = first + tile < cols ? first + tile : cols;
    for (int top = 0; top < rows; top += tile) {
      const int bottom = top + tile < rows ? top + tile : rows;
      for (int j = first; j < end; ++j) {
        FRECHET_INDEPENDENT
        for (int i = top; i < bottom; ++i) g(b, i, j);
      }
    }
  }
};

/// f(b, i, j) for every entry, for functions that read across columns.
template <class Exec, class F>
void for_each_entry_across(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const F& f) {
  if constexpr (device_loops<Exec>) {
    for_each_entry(ctx, label, rows, cols, count, f);
  } else {
    constexpr int tile = TilesOfPanel<F>::tile;
    const int work = rows < threads_from ? rows * tile : rows;
    for_each_column(ctx, label, work, (cols + tile - 1) / tile, count, TilesOfPanel<F>{f, rows, cols});
  }
}

template <class Above, class On, class Below>
struct PartsOfColumn {
  Above above;
  On on;
  Below below;
  int rows;
  KOKKOS_FUNCTION void operator()(int b, int j) const {
    const int d = j < rows ? j : rows;
    FRECHET_INDEPENDENT
    for (int i = 0; i < d; ++i) above(b, i, j);
    if (j < rows) on(b, j, j);
    FRECHET_INDEPENDENT
    for (int i = j + 1; i < rows; ++i) below(b, i, j);
  }
};

template <class Above, class On, class Below>
struct PartOfEntry {
  Above above;
  On on;
  Below below;
  KOKKOS_FUNCTION void operator()(int b, int i, int j) const {
    if (i < j)
      above(b, i, j);
    else if (i == j)
      on(b, i, j);
    else
      below(b, i, j);
  }
};

/// above(b, i, j) for i < j, on(b, j, j), below(b, i, j) for i > j: the parts of a triangular pass, each in a loop of
/// its own.
template <class Exec, class Above, class On, class Below>
void for_each_part(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const Above& above,
                   const On& on, const Below& below) {
  if constexpr (!device_loops<Exec>)
    for_each_column(ctx, label, rows, cols, count, PartsOfColumn<Above, On, Below>{above, on, below, rows});
  else
    for_each_entry(ctx, label, rows, cols, count, PartOfEntry<Above, On, Below>{above, on, below});
}

/// The same for functions that read across columns.
template <class Exec, class Above, class On, class Below>
void for_each_part_across(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const Above& above,
                          const On& on, const Below& below) {
  for_each_entry_across(ctx, label, rows, cols, count, PartOfEntry<Above, On, Below>{above, on, below});
}

/// Kokkos reducer over a type with a neutral default value and a member join().
template <class R>
struct Join {
  using reducer = Join;
  using value_type = R;
  using result_view_type = Kokkos::View<R, Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  R* result;
  KOKKOS_FUNCTION explicit Join(R& r) : result(&r) {}
  KOKKOS_FUNCTION void join(R& to, const R& from) const { to.join(from); }
  KOKKOS_FUNCTION void init(R& r) const { r = R(); }
  KOKKOS_FUNCTION R& reference() const { return *result; }
  KOKKOS_FUNCTION result_view_type view() const { return result_view_type(result); }
  KOKKOS_FUNCTION bool references_scalar() const { return true; }
};

template <class T>
struct Sum {
  static constexpr int lanes = 8;
  T value = T(0);
  KOKKOS_FUNCTION void add(const T& x) { value += x; }
  KOKKOS_FUNCTION void join(const Sum& other) { value += other.value; }
};

/// The largest of values without a sign; a NaN wins and stays. Both hold for their bits as whole numbers too, whose
/// comparison needs no branch.
template <class T>
struct Max {
  static constexpr int lanes = 4;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  Bits bits = 0;
  KOKKOS_FUNCTION void add(const T& x) { join({Kokkos::bit_cast<Bits>(x)}); }
  KOKKOS_FUNCTION void join(const Max& other) { bits = bits < other.bits ? other.bits : bits; }
  KOKKOS_FUNCTION T value() const { return Kokkos::bit_cast<T>(bits); }
};

/// Team kernel of both reductions below: one team per group, `inner` terms in it.
template <class Exec, class R, class Term, class Finish>
struct TeamReduction {
  Term term;
  Finish finish;
  std::int64_t inner;
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Exec>::member_type& team) const {
    R total;
    const std::int64_t group = team.league_rank();
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, inner), [&](std::int64_t k, R& acc) { term(group, k, acc); }, Join<R>(total));
    Kokkos::single(Kokkos::PerTeam(team), [&] { finish(group, total); });
  }
};

template <class R, class Exec, class Term, class Finish>
void reduce_by_team(Context<Exec>& ctx, const char* label, std::int64_t groups, std::int64_t inner, const Term& term,
                    const Finish& finish) {
  Kokkos::parallel_for(label, Kokkos::TeamPolicy<Exec>(ctx.exec(), static_cast<int>(groups), Kokkos::AUTO),
                       TeamReduction<Exec, R, Term, Finish>{term, finish, inner});
}

/// Terms of one column, added to acc. Reductions that ask for lanes get independent partial ones: an addition need not
/// wait for the one before it.
template <class R, class Term>
KOKKOS_INLINE_FUNCTION void accumulate_column(const Term& term, int b, int j, int rows, R& acc) {
  int i = 0;
  if constexpr (requires { R::lanes; }) {
    R part[R::lanes];
    for (; i + R::lanes <= rows; i += R::lanes)
      for (int lane = 0; lane < R::lanes; ++lane) term(b, i + lane, j, part[lane]);
    for (int apart = R::lanes / 2; apart > 0; apart /= 2)
      for (int lane = 0; lane < apart; ++lane) part[lane].join(part[lane + apart]);
    acc.join(part[0]);
  }
  for (; i < rows; ++i) term(b, i, j, acc);
}

template <class R, class Term, class Finish>
struct ReduceColumn {
  Term term;
  Finish finish;
  int rows;
  bool upper;
  KOKKOS_FUNCTION void operator()(int b, int j) const {
    R acc;
    const Term own = term;  // see EntriesOfColumn
    accumulate_column(own, b, j, upper && j < rows ? j + 1 : rows, acc);
    finish(b, j, acc);
  }
};

template <class F>
struct TermOfColumn {
  F f;
  int cols;
  bool upper;
  template <class R>
  KOKKOS_FUNCTION void operator()(std::int64_t c, std::int64_t i, R& acc) const {
    if (!upper || i <= c % cols) f(static_cast<int>(c / cols), static_cast<int>(i), static_cast<int>(c % cols), acc);
  }
};

template <class F>
struct TermOfMatrix {
  F f;
  int rows;
  template <class R>
  KOKKOS_FUNCTION void operator()(std::int64_t b, std::int64_t e, R& acc) const {
    f(static_cast<int>(b), static_cast<int>(e % rows), static_cast<int>(e / rows), acc);
  }
};

template <class F>
struct FinishColumn {
  F f;
  int cols;
  template <class R>
  KOKKOS_FUNCTION void operator()(std::int64_t c, const R& r) const {
    f(static_cast<int>(c / cols), static_cast<int>(c % cols), r);
  }
};

/// For every column: R acc; term(b, i, j, acc) over the rows, or with `upper` down to the diagonal; finish(b, j, acc).
template <class R, class Exec, class Term, class Finish>
void reduce_columns(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const Term& term,
                    const Finish& finish, bool upper = false) {
  if constexpr (!device_loops<Exec>) {
    for_each_column(ctx, label, rows, cols, count, ReduceColumn<R, Term, Finish>{term, finish, rows, upper});
  } else if (cols > 0 && count > 0) {
    reduce_by_team<R>(ctx, label, std::int64_t(cols) * count, rows, TermOfColumn<Term>{term, cols, upper},
                      FinishColumn<Finish>{finish, cols});
  }
}

template <class R, class Term, class Finish>
struct ReduceMatrix {
  Term term;
  Finish finish;
  int rows, cols;
  KOKKOS_FUNCTION void operator()(int b, int) const {
    R acc;
    const Term own = term;  // see EntriesOfColumn
    for (int j = 0; j < cols; ++j) accumulate_column(own, b, j, rows, acc);
    finish(b, acc);
  }
};

template <class R>
struct StorePartial {
  R* partial;
  int cols;
  KOKKOS_FUNCTION void operator()(int b, int j, const R& acc) const { partial[std::int64_t(b) * cols + j] = acc; }
};

template <class R>
struct JoinPartials {
  const R* partial;
  int cols;
  KOKKOS_FUNCTION void operator()(int b, int, int j, R& acc) const { acc.join(partial[std::int64_t(b) * cols + j]); }
};

/// For every matrix: R acc; term(b, i, j, acc) over all entries; finish(b, acc). Deterministic for given extents. Large
/// matrices are reduced in two steps, columns first, so that one matrix can keep a device busy.
template <class R, class Exec, class Term, class Finish>
void reduce_matrices(Context<Exec>& ctx, const char* label, int rows, int cols, int count, const Term& term,
                     const Finish& finish) {
  constexpr std::int64_t one_team = 2048;  // entries
  const std::int64_t entries = std::int64_t(rows) * cols;
  if (count == 0) return;
  if (device_loops<Exec> ? entries > one_team && cols > 1 : count == 1 && !plain_loop(ctx, entries)) {
    Scope scope(ctx);
    R* partial = ctx.template take<R>(static_cast<std::size_t>(cols) * count);
    reduce_columns<R>(ctx, label, rows, cols, count, term, StorePartial<R>{partial, cols});
    const JoinPartials<R> join{partial, cols};
    if constexpr (device_loops<Exec>)
      reduce_by_team<R>(ctx, label, count, cols, TermOfMatrix<JoinPartials<R>>{join, 1}, finish);
    else
      ReduceMatrix<R, JoinPartials<R>, Finish>{join, finish, 1, cols}(0, 0);
  } else if constexpr (device_loops<Exec>) {
    reduce_by_team<R>(ctx, label, count, entries, TermOfMatrix<Term>{term, rows}, finish);
  } else {
    const int work = entries < threads_from ? static_cast<int>(entries) : static_cast<int>(threads_from);
    for_each_column(ctx, label, work, 1, count, ReduceMatrix<R, Term, Finish>{term, finish, rows, cols});
  }
}

// --- scalars --------------------------------------------------------------------------------------------------------

using frechet::conj;
using frechet::imag;
using frechet::real;

/// The type of norms, gaps and noise levels: real and without tangents, also where S is a Dual.
template <class S>
using Level = Real<Primal<S>>;

/// re + i im; the imaginary part is dropped for real S.
template <class S>
KOKKOS_INLINE_FUNCTION S make_scalar(const Real<S>& re, const Real<S>& im) {
  if constexpr (!is_complex<S>)
    return re;
  else if constexpr (is_dual<S>)
    return S(make_scalar<decltype(S::value)>(re.value, im.value),
             make_scalar<decltype(S::value)>(re.tangent, im.tangent));
  else
    return S(re, im);
}
/// |Re| + |Im|: within a factor sqrt(2) of the modulus, and cheap. Of a Dual: of its value.
template <class S>
KOKKOS_INLINE_FUNCTION Level<S> abs1(const S& x) {
  const auto value = primal(x);
  return Kokkos::fabs(real(value)) + Kokkos::fabs(imag(value));
}
template <class S>
KOKKOS_INLINE_FUNCTION bool finite(const S& x) {
  if constexpr (is_dual<S>)
    return finite(x.value) && finite(x.tangent);
  else
    return abs1(x) <= Kokkos::Experimental::finite_max_v<Real<S>>;
}
/// Zero for finite x, else NaN: sums of it need no branches.
template <class S>
KOKKOS_INLINE_FUNCTION Level<S> zero_if_finite(const S& x) {
  if constexpr (is_dual<S>)
    return zero_if_finite(x.value) + zero_if_finite(x.tangent);
  else if constexpr (is_complex<S>)
    return real(x) * Level<S>(0) + imag(x) * Level<S>(0);
  else
    return x * Level<S>(0);
}
template <class S>
KOKKOS_INLINE_FUNCTION S not_a_number() {
  constexpr auto nan = Kokkos::Experimental::quiet_NaN_v<Level<S>>;
  if constexpr (is_dual<S>)
    return S(not_a_number<decltype(S::value)>(), not_a_number<decltype(S::value)>());
  else
    return make_scalar<S>(nan, nan);
}
template <class S>
inline constexpr Level<S> epsilon = Kokkos::Experimental::epsilon_v<Level<S>>;

}  // namespace frechet::detail

#endif
