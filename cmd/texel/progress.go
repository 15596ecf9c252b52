package main

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/texel-ml/texel"
)

// bars shows how far a compilation is, on a terminal only.
type bars struct {
	pool *mpb.Progress
	bar  *mpb.Bar
	step string
}

func (a *app) progressBar() *bars {
	f, ok := a.err.(*os.File)
	if !ok {
		return &bars{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &bars{}
	}
	return &bars{pool: mpb.New(mpb.WithOutput(f), mpb.WithWidth(48))}
}

// report is texel.Options.Progress.
func (b *bars) report(p texel.Progress) {
	if b.pool == nil {
		return
	}
	if p.Step != b.step {
		if b.bar != nil {
			b.bar.Abort(true)
		}
		b.step = p.Step
		b.bar = b.pool.AddBar(int64(max(p.Total, 1)), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(p.Step, decor.WC{W: 10})), mpb.AppendDecorators(decor.CountersNoUnit("%d/%d")))
	}
	b.bar.SetCurrent(int64(p.Done))
}

func (b *bars) stop() {
	if b.pool == nil {
		return
	}
	if b.bar != nil {
		b.bar.Abort(true)
	}
	b.pool.Wait()
}
