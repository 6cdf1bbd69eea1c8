package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Letter says why a message is in a dead-letter queue, and where it came from.
type Letter struct {
	Origin   string             `json:"origin"` // the queue it was received from
	Died     time.Time          `json:"died"`
	Receives int                `json:"receives"` // in the origin
	Group    string             `json:"group"`    // letters of one cause: see GroupKey
	Payload  bezoar.Fingerprint `json:"payload,omitzero"`
	Outcome
	Attempts  []Attempt  `json:"attempts,omitempty"`
	Discarded *Discarded `json:"discarded,omitempty"` // of one in the trash
}

// Discarded says how a letter came into the trash.
type Discarded struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`           // the dead-letter queue that it was in
	Into string    `json:"into,omitempty"` // the ID of the message that replaced it
}

// Lineage is the history of a message that was sent again.
type Lineage struct {
	Parent string `json:"parent"`           // the ID of the dead letter
	Root   string `json:"root"`             // the ID of the first message
	Times  int    `json:"times"`            // how often it was sent again
	Edited bool   `json:"edited,omitempty"` // since the root
	Task   string `json:"task,omitempty"`   // the move task that sent it
	// Attempts are the attempts of its earlier lives, without their output: the newest MaxAttempts, oldest first.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Child returns the lineage of a message that replaces the letter id, which has the
// lineage l and the contents of letter.
func (l *Lineage) Child(id string, letter *Letter, task string, edited bool) *Lineage {
	c := Lineage{Parent: id, Root: id, Times: 1, Edited: edited, Task: task}
	if l != nil {
		c.Root, c.Times, c.Edited = l.Root, l.Times+1, l.Edited || edited
	}
	if letter == nil {
		return &c
	}
	c.Attempts = slices.Clone(newest(letter.Attempts))
	for i := range c.Attempts {
		c.Attempts[i].Life = cmp.Or(c.Attempts[i].Life, c.Times)
		c.Attempts[i].Stderr = ""
	}
	return &c
}

// Lives returns the attempts of a message in all its lives: the newest MaxAttempts.
func (l *Lineage) Lives(now []Attempt) []Attempt {
	if l == nil || len(l.Attempts) == 0 {
		return now
	}
	return newest(slices.Concat(l.Attempts, now))
}

func newest(all []Attempt) []Attempt { return all[max(0, len(all)-MaxAttempts):] }

// GroupKey returns the group of a letter. Letters with the same failure fingerprint share
// a group. Without a fingerprint, letters share a group if the same payload killed its
// worker, or else if class and reason are the same.
func GroupKey(o Outcome, payload bezoar.Fingerprint) string {
	deadly := o.Class == bezoar.Crash || o.Class == bezoar.OOM
	switch {
	case o.Failure != "":
		return o.Class.String() + ":" + o.Failure
	case deadly && !payload.IsZero():
		return o.Class.String() + ":payload-" + payload.String()
	}
	return o.Class.String() + ":" + fold(o.Reason)
}

// fold replaces what differs between two reports of one failure: it shortens the text and replaces every run of digits.
func fold(reason string) string {
	const most = 120
	out := make([]byte, 0, min(len(reason), most))
	for i := 0; i < len(reason) && len(out) < most; i++ {
		c := reason[i]
		if c >= '0' && c <= '9' {
			if len(out) == 0 || out[len(out)-1] != '#' {
				out = append(out, '#')
			}
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// Death is a dead letter and the queue that it is in.
type Death struct {
	Queue string // TrashQueue for one in the trash
	Message
}

// TrashQueue holds discarded letters for TrashFor. Its name is not a valid queue name.
const (
	TrashQueue = ".trash"
	TrashFor   = 7 * 24 * time.Hour
)

// Selection picks dead letters that match all given fields.
type Selection struct {
	Queue  string    `json:"queue,omitempty"`  // the dead-letter queue; "": all but the trash
	Groups []string  `json:"groups,omitempty"` // one of these; at most MaxSelected
	IDs    []string  `json:"ids,omitempty"`    // one of these; at most MaxSelected
	Origin string    `json:"origin,omitempty"` // the queue they were received from
	Class  string    `json:"class,omitempty"`  // by its name
	After  time.Time `json:"after,omitzero"`   // died at this time or later
	Before time.Time `json:"before,omitzero"`  // died before
	Last   int64     `json:"last,omitempty"`   // only up to this Sequence, without later letters; 0: all
	// Body and Reason are texts that the body and the reason of the letter contain, byte
	// for byte. Attributes are exact values of its attributes.
	Body       string            `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // at most MaxAttributes; binary values never match
	Reason     string            `json:"reason,omitempty"`
	// Unreplaced leaves out letters in the trash that edited copies have replaced.
	Unreplaced bool `json:"unreplaced,omitempty"`
}

// MaxSelected bounds the groups and the ids of a [Selection].
const MaxSelected = 1000

// Group is a set of letters of one queue with one cause.
type Group struct {
	Queue    string    `json:"queue"`
	Key      string    `json:"group"`
	Count    int64     `json:"count"`
	First    time.Time `json:"first"` // the first death
	Last     time.Time `json:"last"`
	Redriven int64     `json:"redriven"` // letters that had been sent again before
	Hours    [24]int64 `json:"hours"`    // deaths in each hour; the last one is the current hour
	Origin   string    `json:"origin"`   // of the newest letter, like everything below
	Outcome
	Sample string `json:"sample"` // its ID
}

// Replacement is a changed copy of a letter on its way back.
type Replacement struct {
	Letter      string // the letter's ID
	Receipt     Receipt
	Destination string // a queue
	Entry       Entry
	Lineage     Lineage
}

// ImplicitName returns the name of the dead-letter queue of a queue that does not set one.
func ImplicitName(name string) string {
	const most = 80 - len("-dlq.fifo")
	base, fifo := name, ""
	if n := len(name) - len(".fifo"); n > 0 && name[n:] == ".fifo" {
		base, fifo = name[:n], ".fifo"
	}
	if len(base) > most {
		base = base[:most-9] + "-" + short(base)
	}
	return base + "-dlq" + fifo
}

// ImplicitQueue is the queue that a store creates when a dead-letter queue is needed and
// missing.
func ImplicitQueue(name string, fifo bool) Queue {
	s := DefaultSettings()
	s.FIFO, s.Retention = fifo, MaxRetention
	if name == TrashQueue {
		s.Retention = TrashFor
	}
	return Queue{Name: name, Settings: s}
}
