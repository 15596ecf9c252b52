package interp

// iteration is one iteration of a loop whose iterations are independent of each other, or one work-item between two
// barriers.
type iteration struct {
	parent *iteration
	depth  int
	loop   int64         // the execution of the loop that it belongs to
	place  int64         // in that loop, or of the work-item in its group
	epoch  [fences]int64 // of work-items: how many barriers came before, by what they order
}

// The memories that a barrier orders.
const (
	sharedFence = iota
	globalFence
	fences
)

// concurrent reports whether two iterations are different ones of the same execution of a loop, or inside such, with no
// barrier of the given kind of memory between them.
func concurrent(a, b *iteration, fence int) bool {
	if a == nil || b == nil || a == b {
		return false
	}
	for a.depth > b.depth {
		a = a.parent
	}
	for b.depth > a.depth {
		b = b.parent
	}
	if a == b {
		return false
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a.loop == b.loop && a.place != b.place && a.epoch[fence] == b.epoch[fence]
}

// users are the iterations that used an element: the last that wrote it, and up to two that read it since, concurrently
// if there are two. A later iteration that is concurrent with any reader is concurrent with one of these: iterations of
// one loop come one after the other, so what is past cannot become concurrent again.
type users struct {
	writer  *iteration
	readers [2]*iteration
}

// read notes a reader and reports whether that is a race.
func (u *users) read(at *iteration, fence int) bool {
	if concurrent(u.writer, at, fence) {
		return true
	}
	switch first := u.readers[0]; {
	case first == at:
	case first != nil && concurrent(first, at, fence):
		u.readers[1] = at
	default:
		u.readers[0] = at
		if second := u.readers[1]; second != nil && !concurrent(second, at, fence) {
			u.readers[1] = nil
		}
	}
	return false
}

// write notes a writer and reports whether that is a race.
func (u *users) write(at *iteration, fence int) bool {
	if concurrent(u.writer, at, fence) || concurrent(u.readers[0], at, fence) || concurrent(u.readers[1], at, fence) {
		return true
	}
	*u = users{writer: at}
	return false
}
