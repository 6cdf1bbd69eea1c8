package worker

import (
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/queue"
)

// result is how a run ended.
type result struct {
	class      bezoar.Class
	failure    string // its fingerprint
	votes      int    // how often the same failure of one payload is enough; 0: however often
	span       time.Duration
	reason     string // for people
	detail     string // how the process ended
	stderr     string // what it wrote last
	downstream string
	after      time.Duration // no earlier than that
	rows       []Row
	weak       bool // a death of which nobody knows what it was
	elapsed    time.Duration
	cpu        time.Duration
	rss        int64
	unread     bool  // it ended without having read its message
	spawn      error // why it could not be started
}

func (r *result) outcome() *queue.Outcome {
	return &queue.Outcome{Class: r.class, Failure: r.failure, Reason: r.reason, Detail: r.detail, Stderr: r.stderr}
}

// hide takes secrets out of what people read: the attributes with names of secrets,
// and what looks like one.
func (r *result) hide(m *Message) {
	if r.class == bezoar.Done && len(r.rows) == 0 {
		return
	}
	var values []string
	names := redact.NewNames(nil)
	for name, a := range m.Attributes {
		if names.Secret(name) {
			values = append(values, a.String)
		}
	}
	known := redact.Known(values...)
	shown := func(text string) string { return redact.Text(string(known.Hide([]byte(text))), redact.Hidden) }
	r.reason, r.detail, r.stderr = shown(r.reason), shown(r.detail), shown(r.stderr)
	for i := range r.rows {
		r.rows[i].Reason = shown(r.rows[i].Reason)
	}
}

// patience is how long who was throttled waits at least, if nobody said.
const patience = 15 * time.Second
