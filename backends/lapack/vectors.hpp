// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_VECTORS_HPP
#define FRECHET_BACKENDS_LAPACK_VECTORS_HPP

// Vectors for loops.cpp and tiles.cpp. Functions there are compiled for several levels of x86-64 where compiler and
// loader can choose one at run time; each is a leaf, so that nothing of one level is called from another. Reductions
// are written with vectors, since the compiler may not reorder them itself.

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FRECHET_HAS_CLONES 1
#define FRECHET_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define FRECHET_HAS_CLONES 0
#define FRECHET_CLONES  /// The vector 0, 1, 2 ... by name.
#define FRECHET_NUMBERS(name) \
  V name = {};                \
  for (int l = 0; l < lanes; ++l) name[l] = T(l);

#endif

namespace frechet::backend::lapack {

/// `lanes` numbers, and the same at any address. Compilers split them into the registers there are.
template <class T>
struct Vector {
  static constexpr int bytes = 64, lanes = bytes / sizeof(T);
  using Type __attribute__((vector_size(bytes))) = T;
  using Loose __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias)) = T;
};

/// Whether there are 32 registers of the size of a Vector.
inline bool many_registers() {
#if FRECHET_HAS_CLONES
  static const bool many = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return many;
#elif defined(__AVX512F__)
  return true;
#else
  return false;  /// The vector 0, 1, 2 ... by name.
#define FRECHET_NUMBERS(name) \
  V name = {};                \
  for (int l = 0; l < lanes; ++l) name[l] = T(l);

#endif
}

}  // namespace frechet::backend::lapack

#define FRECHET_VECTOR(T)                  \
  using V = typename Vector<T>::Type;      \
  using Loose = typename Vector<T>::Loose; \
  constexpr int lanes = Vector<T>::lanes;
#define FRECHET_LOAD(p) V(*reinterpret_cast<const Loose*>(p))
#define FRECHET_STORE(p, v) (*reinterpret_cast<Loose*>(p) = Loose(v))
/// The vector 0, 1, 2 ... by name.
#define FRECHET_NUMBERS(name) \
  V name = {};                \
  for (int l = 0; l < lanes; ++l) name[l] = T(l);
/// Numbers from p to the next place of a whole vector, `lanes` where p is one.
#define FRECHET_TO_WHOLE(p) (lanes - static_cast<int>(reinterpret_cast<std::uintptr_t>(p) / sizeof(T) % lanes))

#endif
