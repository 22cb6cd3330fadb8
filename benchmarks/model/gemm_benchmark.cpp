#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include "physarum/base/philox.hpp"

#include "physarum/model/gemm.hpp"

// Arguments of all: rows of x, rows of w (outputs), columns of both (inputs). One thread.
namespace physarum::model {
namespace {

struct Operands {
  std::int64_t rows, out, in;
  AlignedBuffer x{rows * in};
  AlignedBuffer w{out * in};
  AlignedBuffer y{rows * out};

  explicit Operands(const benchmark::State& state)
      : rows(state.range(0)), out(state.range(1)), in(state.range(2)) {
    const base::RandomStream stream(1, base::StreamKind::test);
    std::uint64_t item = 0;
    for (auto* buffer : {&x, &w}) {
      std::uint32_t position = 0;
      for (float& value : buffer->span()) {
        value = static_cast<float>(stream.uniform(item, position++) - 0.5);
      }
      ++item;
    }
  }
  void report(benchmark::State& state) const {
    state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(rows * out * in),
                                                   benchmark::Counter::kIsIterationInvariantRate);
  }
};

void packed(benchmark::State& state) {
  Operands o(state);
  PackedMatrix w(o.out, o.in);
  w.pack(0, o.out, o.w.data(), o.in);
  for (auto _ : state) {
    multiply_packed({o.x.data(), o.rows, o.in}, w, {o.y.data(), o.out});
    benchmark::ClobberMemory();
  }
  o.report(state);
}

void general(benchmark::State& state) {
  Operands o(state);
  GemmWorkspace workspace;
  for (auto _ : state) {
    multiply_general({o.rows, o.out, o.in}, {o.x.data(), o.in, 1}, {o.w.data(), 1, o.in},
                     {o.y.data(), o.out}, Update::replace, workspace);
    benchmark::ClobberMemory();
  }
  o.report(state);
}

void libtorch(benchmark::State& state) {
  Operands o(state);
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  const auto x = at::from_blob(o.x.data(), {o.rows, o.in}, at::kFloat);
  const auto w = at::from_blob(o.w.data(), {o.out, o.in}, at::kFloat).t();
  auto y = at::from_blob(o.y.data(), {o.rows, o.out}, at::kFloat);
  for (auto _ : state) {
    at::mm_out(y, x, w);
    benchmark::ClobberMemory();
  }
  o.report(state);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t rows : {1, 4, 16, 64, 256, 1440}) {
    b->Args({rows, 256, 128});
    b->Args({rows, 1024, 128});
    b->Args({rows, 128, 512});
  }
}

BENCHMARK(packed)->Apply(shapes);
BENCHMARK(general)->Apply(shapes);
BENCHMARK(libtorch)->Apply(shapes);

}  // namespace
}  // namespace physarum::model
