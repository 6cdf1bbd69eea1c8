package sqs

import (
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

// Right is the set of permissions of an access key. A name may end in *, which matches any suffix.
type Right struct {
	Queues  []string // empty: all queues
	Actions []string // such as SendMessage, which includes its batch; empty: all
}

func Actions() []string { return slices.Sorted(maps.Keys(operations())) }

// check returns actions that do not exist.
func (r Right) check() (wrong []string) {
	all := Actions()
	for _, pattern := range r.Actions {
		if !slices.ContainsFunc(all, func(op string) bool { return covers([]string{pattern}, op) }) {
			wrong = append(wrong, pattern)
		}
	}
	return wrong
}

// covers reports whether a pattern matches a name; without patterns, every name matches.
func covers(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, prefix)
	})
}

// permit refuses operations that the caller's key may not do. For a key limited to some queues, it refuses calls that may
// affect others, such as those of move tasks; lists show only the key's queues.
func (c *call) permit(op operation) error {
	if len(c.h.cfg.Rights) == 0 {
		return nil
	}
	claim, err := sigv4.ClaimOf(c.r) // as the Verifier reads it
	if err != nil {
		return verdict(err)
	}
	right := c.h.cfg.Rights[claim.KeyID]
	c.queues = right.Queues
	if !covers(right.Actions, c.op) && !covers(right.Actions, strings.TrimSuffix(c.op, "Batch")) {
		return denied.text("The access key may not call %s.", c.op)
	}
	if len(right.Queues) == 0 || c.op == "ListQueues" {
		return nil
	}
	name := ""
	switch {
	case op.queue:
		if name, err = c.queueName(); err != nil {
			return err
		}
	case c.op == "CreateQueue", c.op == "GetQueueUrl": // others pass over a QueueName
		name = c.req.QueueName
	}
	if name == "" || !covers(right.Queues, name) {
		return denied.text("The access key may not call %s for this queue.", c.op)
	}
	return nil
}

// lists reports whether a queue is shown to the caller.
func (c *call) lists(name string) bool { return covers(c.queues, name) }
