package supervise

import "runtime"

// forker does all the forking on one thread that lives as long as the workers:
// Pdeathsig kills a child when the thread that forked it ends, and the Go
// runtime ends threads as it likes (golang/go#27505).
type forker struct {
	jobs chan func()
	done chan struct{}
}

func newForker() *forker {
	f := &forker{jobs: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for job := range f.jobs {
			job()
		}
	}()
	return f
}

// do runs fn on the thread and waits for it.
func (f *forker) do(fn func()) {
	done := make(chan struct{})
	f.jobs <- func() { defer close(done); fn() }
	<-done
}

// close ends the thread. No child may be left.
func (f *forker) close() {
	close(f.jobs)
	<-f.done
}
