package triage

import (
	"context"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// LetterStore is where dead letters are looked at. See [queue.Letters] for what each
// method owes.
type LetterStore interface {
	Groups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error)
	Letters(ctx context.Context, s queue.Selection, after int64, limit int) ([]queue.Death, error)
	Letter(ctx context.Context, id string) (queue.Death, error)
	CountLetters(ctx context.Context, s queue.Selection) (n, last int64, err error)
}

// Queue is what the service needs of the queues. A [queue.Engine] is one.
type Queue interface {
	LetterStore
	Tasks
	Log
	Queue(ctx context.Context, name string) (queue.Queue, error)
	Held(ctx context.Context, name string) (string, error)
	Payloads(ctx context.Context, name string, state, limit int) ([]queue.PayloadCase, error)
	Pardon(ctx context.Context, name string, payload bezoar.Fingerprint) error
	Resend(ctx context.Context, id string, in queue.ResendInput) (queue.Sent, error)
	Marks() queue.Marks
	// Shared reports whether other processes use the store, too.
	Shared() bool
}

// Tasks moves many letters in the background.
type Tasks interface {
	StartTask(ctx context.Context, t queue.MoveTask) (queue.MoveTask, error)
	ChangeTask(ctx context.Context, id string, c queue.MoveChange) (queue.MoveTask, error)
	Tasks(ctx context.Context, q queue.MoveQuery) ([]queue.MoveTask, error)
}

// Log keeps who did what.
type Log interface {
	Audit(ctx context.Context, e queue.AuditEntry) (queue.AuditEntry, error)
	AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error)
}

// Source is dead letters that are in no queue, such as requests that the
// gateway set aside. The service shows them beside the others, and moves many by
// doing so one by one.
type Source interface {
	LetterStore
	// Name is the queue that they are shown in, such as gateway:search. It
	// holds a colon, as no queue's name does.
	Name() string
	// Redrive runs one again and returns how that ended; class done removes
	// the letter, any other leaves it. queue.ErrLetterNotFound if it is gone;
	// any other error means that it was not run.
	Redrive(ctx context.Context, id string) (queue.Outcome, error)
	// Discard removes one for good. queue.ErrLetterNotFound if it is gone.
	Discard(ctx context.Context, id string) error
}

// Distant is a [Source] whose letters are in a database that can be unreachable. It then
// lists the letters that it read last, so that the letters of other sources are still shown.
type Distant interface {
	// Unread is why the last list was not read; nil: it was.
	Unread() error
}

// Editor is a [Source] whose letters can be edited.
type Editor interface {
	// Edit puts body and attributes into the place of the letter's, sends it again,
	// and returns the ID of what was sent. nil keeps them. queue.ErrLetterNotFound if
	// the letter is gone.
	Edit(ctx context.Context, m queue.Death, body []byte, attributes map[string]queue.Attribute) (string, error)
}

// namedStore is a LetterStore and the name under which its place in a list is kept.
type namedStore struct {
	LetterStore
	source Source // nil: the queues
}

func (s namedStore) name() string {
	if s.source == nil {
		return ""
	}
	return s.source.Name()
}

// first returns up to n letters beyond after, however few come at once.
func (s namedStore) first(ctx context.Context, sel queue.Selection, after int64, n int) (all []queue.Death, err error) {
	for len(all) < n {
		some, err := s.Letters(ctx, sel, after, min(n-len(all), queue.MaxBatch))
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		all, after = append(all, some...), some[len(some)-1].Sequence
	}
	return all, nil
}

// stores are those that a selection may find letters in.
func (svc *Service) stores(s queue.Selection) []namedStore {
	var out []namedStore
	for _, source := range *svc.sources.Load() {
		if s.Queue == source.Name() {
			return []namedStore{{source, source}}
		}
		if s.Queue == "" {
			out = append(out, namedStore{source, source})
		}
	}
	return append([]namedStore{{LetterStore: svc.config.Queue}}, out...)
}

// source returns the one of a name, or nil.
func (svc *Service) source(name string) Source {
	for _, s := range *svc.sources.Load() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}
