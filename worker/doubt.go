package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// How many of the first runs have to fail alike, without having read their
// message, until it is the command: of different messages, or at all.
const (
	doubtMessages = 2
	doubtRuns     = 3
	doubtPause    = time.Second // until a message comes again that was given back for it
)

// doubt asks of the first runs that fail whether it is the command. What fails
// before it reads its message cannot have failed of it, as long as nothing has
// worked. (A handler may work by its environment alone: one success ends the doubt.)
type doubt struct {
	proven  atomic.Bool // it is the command
	mu      sync.Mutex  // guards all below
	over    bool        // a run has worked, read its message, or failed otherwise
	failure string
	runs    int
	ids     map[string]bool
}

// doubts takes a run in, and reports whether it says nothing about its message.
// When it is clear that it is the command, the worker stops.
func (w *Worker) doubts(id string, r *result) bool {
	if r.class == bezoar.Interrupted || r.class == bezoar.SpawnFailed {
		return false
	}
	failure := r.failure + "\x00" + r.reason
	d := &w.doubt
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || !r.unread || r.class != bezoar.Bug || d.runs > 0 && d.failure != failure {
		d.over = true
		return false
	}
	if d.ids == nil {
		d.ids = make(map[string]bool)
	}
	d.failure, d.runs, d.ids[id] = failure, d.runs+1, true
	if d.runs >= doubtRuns || len(d.ids) >= doubtMessages {
		d.proven.Store(true)
		w.fail(&CommandError{Command: w.cfg.Command.name(), Runs: d.runs, Reason: r.reason})
	}
	return true
}
