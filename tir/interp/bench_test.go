package interp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

// matmul is C[i, j] = Σ A[i, k]·B[k, j] in block form, with a stage behind it when tail is set.
func matmul(n int) string {
	return fmt.Sprintf(`func matmul(A: float32[%[1]d, %[1]d], B: float32[%[1]d, %[1]d], out C: float32[%[1]d, %[1]d]):
  block root():
    alloc T: float32[%[1]d, %[1]d]
    for i in range(0, %[1]d, kind=parallel):
      for j in range(0, %[1]d):
        for k in range(0, %[1]d):
          block T(vi: spatial[%[1]d] = i, vj: spatial[%[1]d] = j, vk: reduce[%[1]d] = k):
            reads A[vi +: 1, vk +: 1], B[vk +: 1, vj +: 1]
            writes T[vi +: 1, vj +: 1]
            init:
              T[vi, vj] = 0.0
            T[vi, vj] = T[vi, vj] + A[vi, vk] * B[vk, vj]
    for i in range(0, %[1]d):
      for j in range(0, %[1]d):
        block C(wi: spatial[%[1]d] = i, wj: spatial[%[1]d] = j):
          reads T[wi +: 1, wj +: 1]
          writes C[wi +: 1, wj +: 1]
          C[wi, wj] = max(T[wi, wj], 0.0)
`, n)
}

// BenchmarkRun reports the points a second of a product, and the time of a whole run of a small one (7³ + 7² = 392 points,
// 8³ + 8² = 576), compilation included. The bound for 500 points with checks in float64 is 150 µs.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{4, 8, 64} {
		for _, c := range []struct {
			name string
			opts interp.Options
		}{{"exact", interp.Options{}}, {"float64", interp.Options{Float64: true}}, {"races", interp.Options{Float64: true, Races: true}}} {
			b.Run(fmt.Sprintf("%d/%s", n*n*n+n*n, c.name), func(b *testing.B) {
				f, err := tirtext.Parse("matmul", matmul(n))
				if err != nil {
					b.Fatal(err)
				}
				args := []*tensor.Tensor{tensor.New(tensor.Float32, tensor.Shape{n, n}), tensor.New(tensor.Float32, tensor.Shape{n, n}), tensor.New(tensor.Float32, tensor.Shape{n, n})}
				b.ReportAllocs()
				for b.Loop() {
					if err := interp.Run(context.Background(), f, args, c.opts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n*n*n+n*n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpoints/s")
			})
		}
	}
}
