package proc

import "runtime"

// Thread runs functions on one thread of the operating system. Children are forked from it, because Pdeathsig kills a child
// when the thread that forked it ends, and the Go runtime ends threads at any time (golang/go#27505). It is never the
// process's first thread: in a version 1 memory group the first thread counts as the whole process, which would be charged
// to the child's group and killed with it.
type Thread struct {
	jobs chan func()
	done chan struct{}
}

func NewThread() *Thread {
	t := &Thread{jobs: make(chan func()), done: make(chan struct{})}
	go t.run(func() {})
	return t
}

// run runs the functions on its own thread. It calls locked once it has one.
func (t *Thread) run(locked func()) {
	runtime.LockOSThread()
	locked()
	if firstThread() {
		// While that goroutine holds the first thread, no other one can get it.
		taken := make(chan struct{})
		go t.run(func() { close(taken) })
		<-taken
		runtime.UnlockOSThread()
		return
	}
	defer close(t.done) // still locked: the thread ends with this goroutine
	for job := range t.jobs {
		job()
	}
}

// Do runs fn on the thread and waits for it.
func (t *Thread) Do(fn func()) {
	done := make(chan struct{})
	t.jobs <- func() { defer close(done); fn() }
	<-done
}

// Close ends the thread. This kills every child that was forked from it with Pdeathsig.
func (t *Thread) Close() {
	close(t.jobs)
	<-t.done
}
