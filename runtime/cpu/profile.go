package cpu

import (
	"time"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/runtime"
)

// profile turns stamps of the processor's counter into times. The counter's rate is not known; it is measured by the
// wall clock between the first stamp of the first run and the last stamp of the latest, so that the cost of calling
// the driver is divided by ever more time.
type profile struct {
	on      bool
	begin   time.Time
	kernels []account // of the run, by kernel launch
	last    uint64    // stamp of the run

	firstTick, baseTick uint64
	firstWall           time.Time
	rate                float64 // nanoseconds a tick
}

// account is what one launch took in all turns of the loops around it.
type account struct {
	first, spent uint64 // ticks
	runs         int
}

// Profile turns time stamps on or off.
func (r *runner) Profile(on bool) {
	r.profile = profile{on: on, kernels: make([]account, len(r.table0))}
}

// start begins a run.
func (p *profile) start() {
	p.begin, p.last = time.Now(), 0
	clear(p.kernels)
}

// add accounts for the launches from on, whose stamps are ticks, and clears these.
func (p *profile) add(from int, ticks []uint64) {
	for i := 0; i < len(ticks); i += 2 {
		begin, end := ticks[i], ticks[i+1]
		if a := &p.kernels[from+i/2]; begin != 0 && end >= begin {
			if a.runs == 0 {
				a.first = begin
			}
			a.spent += end - begin
			a.runs++
			p.last = max(p.last, end)
		}
	}
	clear(ticks)
}

// calibrate measures the rate behind a run.
func (p *profile) calibrate(now time.Time) {
	p.baseTick = 0
	for _, a := range p.kernels {
		if a.runs > 0 && (p.baseTick == 0 || a.first < p.baseTick) {
			p.baseTick = a.first
		}
	}
	if p.baseTick == 0 {
		return
	}
	if p.firstTick == 0 {
		p.firstTick, p.firstWall = p.baseTick, p.begin
	}
	if p.last > p.firstTick {
		p.rate = float64(now.Sub(p.firstWall).Nanoseconds()) / float64(p.last-p.firstTick)
	}
}

// Times returns the time of each kernel of the last run. A launch that did not run is left out.
func (r *runner) Times() []runtime.Timing {
	if !r.profile.on {
		return nil
	}
	var times []runtime.Timing
	for pos, s := range r.program.steps {
		if s.Launch.Kind != artifact.KernelLaunch {
			continue
		}
		a := r.profile.kernels[r.index[pos]]
		if a.runs == 0 {
			continue
		}
		span := func(t uint64) time.Duration { return time.Duration(float64(t) * r.profile.rate) }
		times = append(times, runtime.Timing{Pos: pos, Name: s.Launch.Name, Kernel: s.Launch.Kernel, Runs: a.runs,
			Start: span(a.first - r.profile.baseTick), Duration: span(a.spent)})
	}
	return times
}
