package outbox

import (
	"cmp"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// The kinds of alarms.
const (
	alarmNoOwner    = "no-owner"
	alarmNoProgress = "no-progress"
	alarmUnrouted   = "unrouted"
	alarmPaused     = "sink-paused"
	alarmParked     = "parked"
	alarmDatabase   = "database"
	alarmFeed       = "feed"
	alarmWake       = "wake"
)

// alarms holds the conditions that need a person's attention. It logs when one begins and
// when it ends.
type alarms struct {
	log *slog.Logger
	mu  sync.Mutex // guards on
	on  map[alarmKey]Alarm
}

type alarmKey struct{ kind, of string }

func newAlarms(log *slog.Logger) *alarms { return &alarms{log: log, on: make(map[alarmKey]Alarm)} }

func (a *alarms) set(kind, of, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := alarmKey{kind, of}
	was, on := a.on[k]
	if !on {
		was = Alarm{Kind: kind, Since: time.Now()}
		a.log.Warn("outbox alarm begins", "kind", kind, "what", what)
	}
	was.What = what
	a.on[k] = was
}

func (a *alarms) clear(kinds ...string) {
	for _, k := range kinds {
		a.clearOf(k, "")
	}
}

func (a *alarms) clearOf(kind, of string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := alarmKey{kind, of}
	if was, on := a.on[k]; on {
		delete(a.on, k)
		a.log.Info("outbox alarm ends", "kind", kind, "after", time.Since(was.Since).Round(time.Millisecond))
	}
}

func (a *alarms) list() []Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sorted.Collect(maps.Values(a.on), func(x, y Alarm) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.What, y.What)) })
}
