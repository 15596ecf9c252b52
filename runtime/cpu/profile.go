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
	on    bool
	begin time.Time

	firstTick, baseTick uint64
	firstWall           time.Time
	rate                float64 // nanoseconds a tick
}

// Profile turns time stamps on or off.
func (r *runner) Profile(on bool) { r.profile = profile{on: on} }

func (p *profile) calibrate(ticks []uint64, now time.Time) {
	var first, last uint64
	for _, t := range ticks {
		if t == 0 {
			continue
		}
		if first == 0 || t < first {
			first = t
		}
		last = max(last, t)
	}
	if first == 0 {
		return
	}
	if p.firstTick == 0 {
		p.firstTick, p.firstWall = first, p.begin
	}
	p.baseTick = first
	if last > p.firstTick {
		p.rate = float64(now.Sub(p.firstWall).Nanoseconds()) / float64(last-p.firstTick)
	}
}

// Times returns the time of each kernel of the last run; a launch in a loop shows its last turn. A launch that did not
// run is left out.
func (r *runner) Times() []runtime.Timing {
	if !r.profile.on {
		return nil
	}
	var times []runtime.Timing
	for pos, s := range r.program.steps {
		if s.Launch.Kind != artifact.KernelLaunch {
			continue
		}
		from, to := r.ticks[2*r.index[pos]], r.ticks[2*r.index[pos]+1]
		if from == 0 || to < from {
			continue
		}
		span := func(t uint64) time.Duration { return time.Duration(float64(t) * r.profile.rate) }
		times = append(times, runtime.Timing{Pos: pos, Name: s.Launch.Name, Kernel: s.Launch.Kernel, Start: span(from - r.profile.baseTick), Duration: span(to - from)})
	}
	return times
}
