package record

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// Policy is what a queue's settings say about the end of a lease, for what no
// caller brings it along. named says that the dead-letter queue which the
// settings name is there.
func Policy(q queue.Queue, named bool) queue.Policy {
	p := queue.Policy{
		FIFO: q.Settings.FIFO, DeadLetter: queue.ImplicitName(q.Name), Implicit: true,
		Poison: q.Settings.Quarantine.Poison(), KeepExpired: q.Settings.KeepExpired,
	}
	if d := q.Settings.DeadLetter; d.Queue != "" && named {
		p.DeadLetter, p.Implicit, p.MaxReceives = d.Queue, false, d.MaxReceives
	}
	return p
}

// TouchEvery is how often it is noted that a proven payload goes on working.
const TouchEvery = time.Hour

// Worked judges a deletion. It returns c itself when there is nothing to store.
func Worked(cfg poison.Config, c *poison.Case, now int64) *poison.Case {
	if c != nil && c.State == poison.Watched && c.Proven && now-c.Touched < TouchEvery.Microseconds() {
		return c
	}
	return cfg.Work(c, now)
}

// Forgotten is the time before which a case has to have been left alone to be
// dropped: see KeptFrom.
func Forgotten(now int64) int64 {
	return now - poison.Config{}.WithDefaults().Forget.Microseconds()
}

// KeptFrom is the time from which it counts how long a case was left alone.
func KeptFrom(c *poison.Case) int64 { return max(c.Touched, c.Until) }

// Expendable orders cases by which one makes room for a new one, the lowest
// first; those that report false stay.
func Expendable(c *poison.Case) (order int64, ok bool) {
	return int64(c.State), c.State != poison.Quarantined
}

// Hour says in which of a group's hours a death falls, or -1.
func Hour(died, now int64) int {
	h := int((now - died) / time.Hour.Microseconds())
	if now < died {
		h = 0
	}
	if h >= len(queue.Group{}.Hours) {
		return -1
	}
	return len(queue.Group{}.Hours) - 1 - h
}

// CheckMark says why no store keeps m, or nil.
func CheckMark(m queue.Mark) error {
	switch {
	case !printable(m.Key, 255):
		return fmt.Errorf("mark %.80q: Key: is not 1 to 255 bytes of printable ASCII: %w", m.Key, queue.ErrInvalid)
	case m.TTL <= 0:
		return fmt.Errorf("mark %s: TTL: %v is not positive: %w", m.Key, m.TTL, queue.ErrInvalid)
	case len(m.Doc) > 64<<10 || !json.Valid(m.Doc):
		return fmt.Errorf("mark %s: Doc: is not JSON of at most 64 KiB: %w", m.Key, queue.ErrInvalid)
	}
	return nil
}

// CheckAudit says why no store keeps e, or nil.
func CheckAudit(e queue.AuditEntry) error {
	switch {
	case len(e.Actor) > 256 || len(e.Action) > 256 || len(e.Object) > 1024 || len(e.Error) > 4096:
		return fmt.Errorf("audit entry %.80q: Actor, Action, Object or Error: longer than 256, 256, 1024 or 4096 bytes: %w", e.Action, queue.ErrInvalid)
	case len(e.Detail) > 16<<10 || len(e.Detail) > 0 && !json.Valid(e.Detail):
		return fmt.Errorf("audit entry %.80q: Detail: is not JSON of at most 16 KiB: %w", e.Action, queue.ErrInvalid)
	}
	return nil
}

func printable(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
