package supervise

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// State is the state of a worker's process.
type State string

// The states.
const (
	Down     State = "down"     // waiting to be started again
	Starting State = "starting" // not ready yet
	Ready    State = "ready"
	Draining State = "draining" // gets no new work
	Stopping State = "stopping" // has been told to end
)

// WorkerStatus is the state of one worker, for display.
type WorkerStatus struct {
	Name     string     `json:"name"`
	State    State      `json:"state"`
	PID      int        `json:"pid,omitempty"`
	Port     int        `json:"port,omitempty"`
	Epoch    uint64     `json:"epoch,omitempty"`
	Since    time.Time  `json:"since"` // when the state began
	Up       time.Time  `json:"up"`    // when this life became ready; zero when it is not
	Restarts int64      `json:"restarts"`
	LastEnd  *fleet.End `json:"last_end,omitempty"`
	// LastError is why the last start failed; "" once it is ready.
	LastError string `json:"last_error,omitempty"`
	// Outdated says that settings have changed that only a new process can get.
	Outdated bool `json:"outdated,omitempty"`
}

func (w *slot) note(f func(*WorkerStatus)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.st)
}

// enter records a state; l is the life in it, nil if there is none.
func (w *slot) enter(state State, l *life) {
	w.note(func(st *WorkerStatus) {
		st.State, st.Since = state, time.Now()
		if l == nil {
			st.PID, st.Port, st.Epoch, st.Up = 0, 0, 0, time.Time{}
			return
		}
		st.PID, st.Port = l.pid, l.port
		if epoch := l.epoch(); state == Ready && st.Epoch != epoch {
			st.Epoch, st.Up = epoch, st.Since
		}
	})
}

func (w *slot) snapshot() WorkerStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st
}
