// One instruction set's build of the kernel: everything below is compiled once per LAMBDAK_ISA.
// Nothing here may instantiate library templates: the linker could hand their code to an older CPU.
#include "kernel.hpp"

#include "band.hpp"
#include "derivatives.hpp"
#include "design.hpp"
#include "solve.hpp"

namespace lambdak::LAMBDAK_ISA {

template <class T> int64_t scratch_vectors(const Job& job) {
  const Arena<T> none{nullptr};
  const int64_t two = Workspace<T, 2>::lay_out(job, none, nullptr), one = Workspace<T, 1>::lay_out(job, none, nullptr);
  if (job.grad.data) return one + 2 * job.dim + row_start(job.dim);
  return groups(job) == 2 ? two : one;
}

int64_t block_rows(const Job& job) {
  const int lanes = LAMBDAK_VECTOR_BYTES / (job.double_precision ? 8 : 4);
  if (job.grad.data) return lanes;
  return lanes * groups(job);
}

int64_t scratch_bytes(const Job& job) {
  return LAMBDAK_VECTOR_BYTES * (job.double_precision ? scratch_vectors<double>(job) : scratch_vectors<float>(job));
}

template <class T> void solve_range(const Job& job, int64_t begin, int64_t end, void* scratch) {
  const int64_t step = block_rows(job);
  if (job.dim == 1) {
    for (int64_t row = begin; row < end; ++row) solve_one_by_one<T>(job, row);
    return;
  }
  for (int64_t row = begin; row < end; row += step)
    groups(job) == 2 ? solve_block<T, 2>(job, row, scratch) : solve_block<T, 1>(job, row, scratch);
}

void solve(const Job& job, int64_t begin, int64_t end, void* scratch) {
  job.double_precision ? solve_range<double>(job, begin, end, scratch) : solve_range<float>(job, begin, end, scratch);
}

template <void (*Float)(const Job&, int64_t, void*), void (*Double)(const Job&, int64_t, void*)>
void each_block(const Job& job, int64_t begin, int64_t end, void* scratch) {
  for (int64_t row = begin, step = block_rows(job); row < end; row += step)
    job.double_precision ? Double(job, row, scratch) : Float(job, row, scratch);
}

}  // namespace lambdak::LAMBDAK_ISA

#define LAMBDAK_JOIN_(a, b) a##b
#define LAMBDAK_JOIN(a, b) LAMBDAK_JOIN_(a, b)
#define LAMBDAK_STRING_(a) #a
#define LAMBDAK_STRING(a) LAMBDAK_STRING_(a)

namespace lambdak {
namespace build = LAMBDAK_ISA;
const Kernel LAMBDAK_JOIN(kernel_, LAMBDAK_ISA) = {
    LAMBDAK_STRING(LAMBDAK_ISA),
    build::block_rows,
    build::scratch_bytes,
    build::solve,
    build::each_block<build::outer_block<float>, build::outer_block<double>>,
    build::each_block<build::vjp_block<float>, build::vjp_block<double>>,
    {build::band_bytes<float>, build::band_bytes<double>},
    {build::band_gradient<float>, build::band_gradient<double>},
    {build::gather<float>, build::gather<double>},
    {build::scatter<float>, build::scatter<double>},
    {build::multiply<float>, build::multiply<double>},
    build::largest,
    build::add,
    build::add_whole,
    {build::adam<float>, build::adam<double>},
    {build::descend_bytes<float>, build::descend_bytes<double>},
    {build::descend<float>, build::descend<double>},
};
}  // namespace lambdak
