package transform_test

import (
	"testing"

	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// BenchmarkGroups lowers a product of 256 work-items a group, tiles of 64 × 64 × 16, for a device with work-groups.
func BenchmarkGroups(b *testing.B) {
	for name, p := range map[string]tiles{"siblings": {m: 512, n: 512, k: 512, bm: 64, bn: 256, bk: 16, threads: 256, vthreads: 1},
		"double": {m: 512, n: 512, k: 512, bm: 64, bn: 256, bk: 16, threads: 256, vthreads: 1, double: true},
		"late":   {m: 512, n: 512, k: 512, bm: 64, bn: 512, bk: 16, threads: 256, vthreads: 2, nested: true, double: true, late: true}} {
		f, err := tirtext.Parse("tiles", p.text())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := transform.Lower(f, transform.Options{Device: transform.GPU}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
