package supervise

import "runtime"

// forker does all the forking on one thread that lives as long as the workers:
// Pdeathsig kills a child when the thread that forked it ends, and the Go
// runtime ends threads as it likes (golang/go#27505). It is never the process's
// first thread: in a version 1 memory group the first stands for the whole
// process, which would be charged to the worker's group, and killed with it.
type forker struct {
	jobs chan func()
	done chan struct{}
}

func newForker() *forker {
	f := &forker{jobs: make(chan func()), done: make(chan struct{})}
	go f.run(func() {})
	return f
}

// run does the jobs on a thread of its own, of which it tells locked.
func (f *forker) run(locked func()) {
	runtime.LockOSThread()
	locked()
	if firstThread() {
		// While it is held, another goroutine cannot get it.
		taken := make(chan struct{})
		go f.run(func() { close(taken) })
		<-taken
		runtime.UnlockOSThread()
		return
	}
	defer close(f.done) // still locked: the thread ends with this goroutine
	for job := range f.jobs {
		job()
	}
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
