package runtime

import (
	"sync"
	"time"
)

// watchEvery is how often a running instance looks at its context: well below the 100 ms within which a cancelled run
// must end, and far above the cost of looking.
const watchEvery = 10 * time.Millisecond

// watchIdle is after how many looks without a run the watcher goes to sleep.
const watchIdle = 20

// watcher turns a context's end into Runner.Cancel. One goroutine an instance looks at the context of the run in
// progress every watchEvery; it is started by the first run whose context can end and sleeps while there are none. A
// run costs two uncontended locks, no allocation and no switch of goroutines.
type watcher struct {
	runner Runner
	wake   chan struct{}

	mu      sync.Mutex
	done    <-chan struct{} // of the run in progress
	started bool
	asleep  bool
	closed  bool
}

func (w *watcher) init(r Runner) {
	w.runner = r
	w.wake = make(chan struct{}, 1)
}

// begin is called before a run.
func (w *watcher) begin(done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runner.Cancel(w.closed)
	w.done = done
	if done == nil || w.closed {
		return
	}
	if !w.started {
		w.started = true
		go w.loop()
	} else if w.asleep {
		w.asleep = false
		w.wake <- struct{}{}
	}
}

// end is called after a run; from then on its context is not looked at.
func (w *watcher) end() {
	w.mu.Lock()
	w.done = nil
	w.mu.Unlock()
}

func (w *watcher) loop() {
	idle := 0
	for {
		time.Sleep(watchEvery)
		w.mu.Lock()
		if w.closed {
			w.mu.Unlock()
			return
		}
		if w.done == nil {
			idle++
		} else {
			idle = 0
			select {
			case <-w.done:
				w.runner.Cancel(true)
			default:
			}
		}
		if idle < watchIdle {
			w.mu.Unlock()
			continue
		}
		idle, w.asleep = 0, true
		w.mu.Unlock()
		<-w.wake
	}
}

func (w *watcher) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// close cancels the run in progress and ends the goroutine.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	w.runner.Cancel(true)
	if w.asleep {
		w.asleep = false
		w.wake <- struct{}{}
	}
}
