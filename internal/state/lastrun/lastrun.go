package lastrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// How is how a run ended.
type How uint8

// The ways to end.
const (
	First       How = iota // there was no run before this one
	Orderly                // it stopped in order
	Panicked               // a panic, or a fatal error of the Go runtime
	OutOfMemory            // the kernel killed for memory, or the runtime got no memory
	Unknown                // no evidence: a kill from outside, a power failure
)

func (h How) String() string {
	return [...]string{"first run", "orderly", "panic", "out of memory", "unknown"}[min(uint(h), 4)]
}

// Report describes the last run.
type Report struct {
	How   How
	ID    uint64 // of the run; 0: unknown
	PID   int
	Began time.Time // by the clock at that time
	Kills int64     // out-of-memory kills in its group since its last look
	Line  string    // the panic or fatal error, bounded and scrubbed
	Trace []string  // the first lines of the crash: Line, and frames of the goroutine that crashed
	Calls []string  // the functions on that goroutine's stack, innermost first
	Note  string    // what was wrong with the file, and other remarks
}

// Config describes a run. Dir is required.
type Config struct {
	Dir     string   // an existing folder, as a rule private to the program
	Secrets []string // values that a report must not show

	// NoCrashOutput leaves the runtime's crash output alone. Set it if several runs share one process.
	NoCrashOutput bool
}

// Run is the record of this run. Its methods may be called from any goroutine.
type Run struct {
	id   uint64
	log  *os.File // nil: nothing is kept
	mine bool     // we have set the runtime's crash output
	mem  counter

	mu   sync.Mutex // guards head, and writes of it
	head head
}

// Open reads how the last run ended and begins the record of this one.
func Open(cfg Config) (*Run, Report) {
	r := &Run{id: rand.Uint64() | 1, mem: openCounter()}
	f, content, err := openFile(cfg.Dir)
	if err != nil {
		return r, Report{How: Unknown, Note: "the end of runs is not recorded: " + err.Error()}
	}
	boot := bootID()
	seen := r.mem.count()
	rep := judge(content, boot, seen, cfg.Secrets)
	if text := textOf(content); len(text) > 0 {
		if err := keep(cfg.Dir, text); err != nil {
			rep.note("the text of the crash could not be kept: " + err.Error())
		}
	}
	r.head = head{id: r.id, boot: boot, pid: os.Getpid(), began: time.Now(), count: seen}
	if err := begin(f, r.head); err != nil {
		rep.note("the end of this run is not recorded: " + errors.Join(err, f.Close()).Error())
		return r, rep
	}
	r.log = f
	if !cfg.NoCrashOutput {
		if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
			rep.note("panics are not recorded: " + err.Error())
		} else {
			r.mine = true
		}
	}
	return r, rep
}

// ID identifies this run; the next run's report names it.
func (r *Run) ID() uint64 { return r.id }

// Look records how many out-of-memory kills the kernel has counted so far, so that they do not count as the end of this
// run.
func (r *Run) Look() {
	if r.log == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen := r.mem.count(); seen != r.head.count && !r.head.orderly {
		r.head.count = seen
		_ = write(r.log, r.head) // the next look tries again
	}
}

// lookEvery is how often Run looks.
const lookEvery = time.Second

// Run looks every second until ctx ends.
func (r *Run) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.Look()
		}
	}
}

// Close records that this run stops in order.
func (r *Run) Close() error {
	if r.log == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head.orderly {
		return nil
	}
	r.head.orderly = true
	errs := []error{write(r.log, r.head)}
	if r.mine {
		errs = append(errs, debug.SetCrashOutput(nil, debug.CrashOptions{}))
	}
	if err := errors.Join(append(errs, statefile.Unlock(r.log), r.log.Close())...); err != nil {
		return fmt.Errorf("close the record of this run: %w", err)
	}
	return nil
}

// judge determines how the run ended that wrote content.
func judge(content []byte, boot string, seen count, secrets []string) Report {
	if len(content) == 0 {
		return Report{How: First}
	}
	h, ok := decode(content)
	if !ok {
		return Report{How: Unknown, Note: "the head of crash.txt is damaged"}
	}
	rep := Report{How: Unknown, ID: h.id, PID: h.pid, Began: h.began}
	if text := textOf(content); len(text) > 0 {
		tr := parse(text, scrubber(secrets))
		rep.Line, rep.Trace, rep.Calls = tr.line, tr.lines, tr.calls
		switch tr.kind {
		case panicked:
			rep.How = Panicked
		case exhausted:
			rep.How = OutOfMemory
		case signalled:
			rep.note("the run was ended by a signal")
		case unreadable:
			rep.note("the end of crash.txt is not the text of a crash")
		}
		return rep
	}
	switch {
	case h.orderly:
		rep.How = Orderly
	case h.boot != boot:
		rep.note("the machine has restarted since")
	case h.count.group != "" && h.count.group == seen.group && seen.kills > h.count.kills:
		rep.How, rep.Kills = OutOfMemory, seen.kills-h.count.kills
	}
	return rep
}

func (r *Report) note(s string) {
	if r.Note != "" {
		r.Note += "; "
	}
	r.Note += s
}
