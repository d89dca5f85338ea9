# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Frechet(CMakePackage, CudaPackage):
    """Differentiable dense linear algebra on Kokkos: value, Jacobian-vector product (JVP) and
    vector-Jacobian product (VJP) of decompositions and solves."""

    # There is no public repository yet, so this recipe names no homepage and no git URL. The
    # source comes from a checkout: use the spack.yaml at its top, or `spack develop --path`.
    # Spack then never fetches; any other installation stops with a fetch error. A site with a
    # clone of its own can name it in packages.yaml (packages:frechet:package_attributes:git).
    version("main", branch="main")

    license("Apache-2.0 WITH LLVM-exception")

    variant("shared", default=True, description="Build a shared library")
    variant("openmp", default=False, description="Run on the OpenMP backend of Kokkos")
    variant(
        "host_backend",
        default="lapack",
        values=("lapack", "reference"),
        multi=False,
        description="Who does the flops on the host: BLAS and LAPACK, or the built-in reference",
    )
    variant("tests", default=False, description="Build the tests")
    variant("perf", default=False, description="Build the performance suite")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")

    depends_on("kokkos@4.4:5")
    depends_on("kokkos-kernels@4.4:5")
    with when("~openmp"):
        depends_on("kokkos+serial")
        depends_on("kokkos-kernels+serial")
    with when("+openmp"):
        depends_on("kokkos+openmp")
        depends_on("kokkos-kernels+openmp")
    depends_on("kokkos+pic", when="+shared")
    # One language standard throughout: Kokkos 4 is built as C++17 unless told otherwise.
    requires("^kokkos cxxstd=20", "^kokkos cxxstd=23", policy="one_of")

    depends_on("blas", when="host_backend=lapack")
    depends_on("lapack", when="host_backend=lapack")

    depends_on("nlohmann-json@3.10:", when="+tests")
    depends_on("nlohmann-json@3.10:", when="+perf")
    depends_on("googletest@1.12:", when="+tests")
    depends_on("python@3.9:", when="+tests+perf", type=("build", "test"))
    with when("+perf"):
        depends_on("benchmark@1.7:")
        depends_on("cli11@2.1:")

    with when("+cuda"):
        depends_on("cuda@12.6:")
        # Kokkos with CUDA and GCC compiles through its wrapper, and so does what links to it.
        requires("^kokkos+wrapper", when="%gcc")
        for arch in CudaPackage.cuda_arch_values:
            depends_on(f"kokkos+cuda cuda_arch={arch}", when=f"cuda_arch={arch}")
            depends_on(f"kokkos-kernels+cuda cuda_arch={arch}", when=f"cuda_arch={arch}")
        conflicts("cuda_arch=none", msg="+cuda needs cuda_arch, as Kokkos does")
    # A Kokkos for a device that Frechet was not asked for is refused rather than half supported.
    conflicts("^kokkos+cuda", when="~cuda", msg="Kokkos has CUDA: install frechet+cuda")
    for device in ("rocm", "sycl"):
        conflicts(f"^kokkos+{device}", msg="Frechet has no backend for this device yet")

    sanity_check_is_file = [join_path("include", "frechet", "frechet.hpp")]
    sanity_check_is_dir = [join_path("share", "frechet", "examples")]

    test_requires_compiler = True

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("FRECHET_HOST_BACKEND", "host_backend"),
            self.define_from_variant("FRECHET_ENABLE_TESTS", "tests"),
            self.define_from_variant("FRECHET_ENABLE_PERF", "perf"),
            # The stand-alone test below builds the installed sources of the examples instead.
            self.define("FRECHET_ENABLE_EXAMPLES", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["kokkos"].package.kokkos_cxx))
        return args

    def test_examples(self):
        """build and run the installed examples as a consumer of the package"""
        cmake = which(self.spec["cmake"].prefix.bin.cmake, required=True)
        ctest = which(self.spec["cmake"].prefix.bin.ctest, required=True)
        source = join_path(self.prefix, "share", "frechet", "examples")
        build = join_path(self.test_suite.test_dir_for_spec(self.spec), "build-examples")

        cmake(
            "-S",
            source,
            "-B",
            build,
            self.define("CMAKE_PREFIX_PATH", [self.prefix, *get_cmake_prefix_path(self)]),
            self.define(
                "CMAKE_CXX_COMPILER",
                self.spec["kokkos"].package.kokkos_cxx if self.spec.satisfies("+cuda") else os.environ["CXX"],
            ),
            self.define("CMAKE_BUILD_TYPE", self.spec.variants["build_type"].value),
        )
        cmake("--build", build)
        ctest("--test-dir", build, "--output-on-failure", "--no-tests=error")
