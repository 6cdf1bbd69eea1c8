package alarm

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// state is what all processes know of one alarm. Its steps are pure.
type state struct {
	Firing    bool      `json:"firing,omitempty"`
	Since     time.Time `json:"since,omitzero"`      // when it began to fire, or ceased
	Calm      time.Time `json:"calm,omitzero"`       // since when it would resolve
	Told      bool      `json:"told,omitempty"`      // somebody knows that it fires
	ToldAt    time.Time `json:"told_at,omitzero"`    // when they were told last
	NotBefore time.Time `json:"not_before,omitzero"` // after it could not be told
	Failure   string    `json:"failure,omitempty"`   // why

	// Tasks are the redrives whose ends are known. Those that are there at the
	// first look are taken as known.
	Looked bool                       `json:"looked,omitempty"`
	Tasks  map[string]queue.MoveState `json:"tasks,omitempty"`

	Pending *Event `json:"pending,omitempty"` // is being told
	Holder  string `json:"holder,omitempty"`  // by this process
	Tries   int    `json:"tries,omitempty"`   // by how many processes so far
}

const (
	settle    = time.Minute     // how long it has to be calm before it resolves
	tellLater = 5 * time.Minute // after it could not be told
	maxTries  = 3               // processes that die over one event
	calmTenth = 8               // tenths of the limit, below which it is calm
)

// measure is what one look has found.
type measure struct {
	value  float64
	over   bool    // beyond the limit
	calm   bool    // so far below that it may resolve
	ended  []Ended // redrives that have ended or stand halted, the newest first
	groups []Cause
}

// look takes in what one look has found. news says that there is something to
// be told: the caller makes it Pending.
func (s state) look(r Rule, m measure, now time.Time) (next state, news bool) {
	if r.Kind == Redrive {
		return s.lookAtTasks(r, m, now)
	}
	switch {
	case m.over && !s.Firing:
		s.Firing, s.Since, s.Calm = true, now, time.Time{}
	case m.over || !m.calm:
		s.Calm = time.Time{}
	case s.Firing && s.Calm.IsZero():
		s.Calm = now
	case s.Firing && now.Sub(s.Calm) >= settle:
		s.Firing, s.Since, s.Calm = false, now, time.Time{}
	}
	if s.Pending != nil || now.Before(s.NotBefore) {
		return s, false
	}
	due := s.ToldAt.IsZero() || now.Sub(s.ToldAt) >= r.Repeat
	return s, s.Firing && due || !s.Firing && s.Told
}

// lookAtTasks compares with the tasks that are known.
func (s state) lookAtTasks(r Rule, m measure, now time.Time) (state, bool) {
	known := make(map[string]queue.MoveState, len(m.ended))
	halted, news := false, false
	for _, t := range m.ended {
		halted = halted || t.State == queue.MoveHalted
		if !s.Looked || s.Tasks[t.ID] == t.State {
			known[t.ID] = t.State
			continue
		}
		news = true
	}
	s.Tasks, s.Looked = known, true
	if halted != s.Firing {
		s.Firing, s.Since = halted, now
	}
	if s.Pending != nil || now.Before(s.NotBefore) {
		return s, false
	}
	return s, news || s.Told && halted && now.Sub(s.ToldAt) >= r.Repeat
}

func (s state) event(r Rule, m measure, id string, now time.Time) *Event {
	e := &Event{
		ID: id, Alarm: r.Name, Kind: r.Kind, Queue: r.queue(), Value: m.value, Limit: r.number(), Since: s.Since, At: now,
		Status: Firing, Repeat: s.Told, Groups: m.groups,
	}
	switch {
	case r.Kind == Redrive:
		e.Status = Over
		for _, t := range m.ended {
			if _, known := s.Tasks[t.ID]; !known && len(e.Tasks) < maxEnded {
				e.Tasks = append(e.Tasks, t)
			}
		}
		e.Repeat = len(e.Tasks) == 0
		for _, t := range m.ended {
			if e.Repeat && t.State == queue.MoveHalted && len(e.Tasks) < maxEnded {
				e.Tasks = append(e.Tasks, t)
			}
		}
	case !s.Firing:
		e.Status, e.Repeat, e.Groups = Resolved, false, nil
	}
	e.Text = e.text()
	return e
}

func (r Rule) number() float64 {
	if r.Kind == Oldest {
		return r.Age.Seconds()
	}
	return float64(r.Above)
}

func (e *Event) text() string {
	where := "all dead-letter queues"
	if e.Queue != "*" {
		where = e.Queue
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	switch {
	case e.Kind == Redrive && len(e.Tasks) == 1:
		t := e.Tasks[0]
		return fmt.Sprintf("%s: task %s %s: %d of %d letters moved, %d succeeded, %d failed again",
			e.Alarm, t.ID, t.State, t.Moved, t.Planned, t.Succeeded, t.FailedAgain)
	case e.Kind == Redrive:
		return fmt.Sprintf("%s: %d tasks have ended or halted", e.Alarm, len(e.Tasks))
	case e.Status == Resolved:
		return fmt.Sprintf("%s: resolved: the dead letters of %s are within the limit again", e.Alarm, where)
	case e.Kind == Oldest:
		return fmt.Sprintf("%s: the oldest dead letter of %s is %v old, more than %v", e.Alarm, where, seconds(e.Value), seconds(e.Limit))
	case e.Kind == Rate:
		return fmt.Sprintf("%s: %.0f dead letters within a minute in %s, more than %.0f", e.Alarm, e.Value, where, e.Limit)
	}
	return fmt.Sprintf("%s: %.0f dead letters in %s, more than %.0f", e.Alarm, e.Value, where, e.Limit)
}

// told takes in that the pending event has been told, or why not.
func (s state) told(failure error, now time.Time) state {
	e := s.Pending
	s.Pending, s.Holder, s.Tries = nil, "", 0
	if failure != nil {
		s.Failure, s.NotBefore = clip(failure.Error()), now.Add(tellLater)
		return s
	}
	s.Failure, s.NotBefore = "", time.Time{}
	if e.Status == Resolved {
		s.Told = false
		return s
	}
	s.Told, s.ToldAt = true, now
	if len(e.Tasks) > 0 {
		s.Tasks = maps.Clone(s.Tasks)
		if s.Tasks == nil {
			s.Tasks = map[string]queue.MoveState{}
		}
	}
	for _, t := range e.Tasks {
		s.Tasks[t.ID] = t.State
	}
	return s
}

func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}
