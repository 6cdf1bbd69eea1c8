package record

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// Policy returns a queue's policy for the end of a lease without a caller's policy. named
// means that the configured dead-letter queue exists.
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

// TouchEvery is the interval at which the continuing success of a proven payload is
// recorded.
const TouchEvery = time.Hour

// Worked evaluates a deletion. It returns c itself if nothing has to be stored.
func Worked(cfg poison.Config, c *poison.Case, now int64) *poison.Case {
	if c != nil && c.State == poison.Watched && c.Proven && now-c.Touched < TouchEvery.Microseconds() {
		return c
	}
	return cfg.Work(c, now)
}

// Forgotten returns the time before which an untouched case is dropped; see KeptFrom.
func Forgotten(now int64) int64 {
	return now - poison.Config{}.WithDefaults().Forget.Microseconds()
}

// KeptFrom returns the time from which a case counts as untouched.
func KeptFrom(c *poison.Case) int64 { return max(c.Touched, c.Until) }

// Expendable orders cases for eviction, lowest first. Cases for which it returns false are
// not evicted.
func Expendable(c *poison.Case) (order int64, ok bool) {
	return int64(c.State), c.State != poison.Quarantined
}

// Hour returns the index of the group's hour into which a death falls, or -1.
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

// CheckMark returns an error if no store can keep m.
func CheckMark(m queue.Mark) error {
	switch {
	case !printable(m.Key, 255):
		return fmt.Errorf("mark %.80q: Key: must have 1 to 255 bytes of printable ASCII: %w", m.Key, queue.ErrInvalid)
	case m.TTL <= 0:
		return fmt.Errorf("mark %s: TTL: %v is not positive: %w", m.Key, m.TTL, queue.ErrInvalid)
	case len(m.Doc) > 64<<10 || !json.Valid(m.Doc):
		return fmt.Errorf("mark %s: Doc: must be JSON of at most 64 KiB: %w", m.Key, queue.ErrInvalid)
	}
	return nil
}

// CheckAudit returns an error if no store can keep e.
func CheckAudit(e queue.AuditEntry) error {
	switch {
	case len(e.Actor) > 256 || len(e.Action) > 256 || len(e.Object) > 1024 || len(e.Error) > 4096:
		return fmt.Errorf("audit entry %.80q: Actor, Action, Object or Error: longer than 256, 256, 1024 or 4096 bytes: %w", e.Action, queue.ErrInvalid)
	case len(e.Detail) > 16<<10 || len(e.Detail) > 0 && !json.Valid(e.Detail):
		return fmt.Errorf("audit entry %.80q: Detail: must be JSON of at most 16 KiB: %w", e.Action, queue.ErrInvalid)
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
