package flow

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sender processes items in order, and repeats each until it succeeds.
type sender[T any] struct {
	do   func(context.Context, T) error
	done func(T) // may be nil
	what string
	log  *slog.Logger
	ctx  func() context.Context

	mu   sync.Mutex // guards todo
	todo []T
	more chan struct{}
}

func newSender[T any](ctx context.Context, what string, log *slog.Logger, do func(context.Context, T) error, done func(T)) *sender[T] {
	return &sender[T]{
		do: do, done: done, what: what, log: log, more: make(chan struct{}, 1),
		ctx: func() context.Context { return ctx },
	}
}

// add queues an item. Without a function, it is dropped.
func (s *sender[T]) add(one T) {
	if s.do == nil {
		return
	}
	s.mu.Lock()
	s.todo = append(s.todo, one)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// run processes items until the context ends.
func (s *sender[T]) run() {
	for {
		s.mu.Lock()
		todo := s.todo
		s.todo = nil
		s.mu.Unlock()
		for _, one := range todo {
			if !s.until(one) {
				return
			}
			if s.done != nil {
				s.done(one)
			}
		}
		if len(todo) > 0 {
			continue
		}
		select {
		case <-s.more:
		case <-s.ctx().Done():
			return
		}
	}
}

// until repeats one item until it succeeds, and reports whether it did.
func (s *sender[T]) until(one T) bool {
	ctx := s.ctx()
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		if ctx.Err() != nil {
			return false
		}
		err := s.do(ctx, one)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, s.what+" failed and will be repeated", "err", err, "in", wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// send starts the senders of letters, pages and the like.
func (l *loop) send(ctx context.Context) {
	var put func(context.Context, Letter) error
	var settle func(context.Context, settlement) error
	if l.cfg.Letters != nil {
		put = l.cfg.Letters.Put
		settle = func(ctx context.Context, s settlement) error { return l.cfg.Letters.Settle(ctx, s.id, s.why) }
	}
	page := func(ctx context.Context, in Incident) error {
		l.log.WarnContext(ctx, "a flow needs a person", "kind", in.Kind, "flow", in.Flow, "run", in.Run, "task", in.Task, "group", in.Group, "why", in.Why)
		return nil
	}
	if l.cfg.Pager != nil {
		page = l.cfg.Pager.Page
	}
	l.letters = newSender(ctx, "storing a dead letter of a flow", l.log, put, l.stored)
	l.settles = newSender(ctx, "settling a dead letter of a flow", l.log, settle, nil)
	l.pages = newSender(ctx, "paging", l.log, page, l.paged)
	l.jobs.Go(l.letters.run)
	l.jobs.Go(l.settles.run)
	l.jobs.Go(l.pages.run)
}

func (l *loop) note(f func()) {
	select {
	case l.notes <- f:
	case <-l.dead:
	case <-l.letters.ctx().Done():
	}
}

// stored records that a dead letter was stored.
func (l *loop) stored(letter Letter) {
	l.note(func() {
		p := l.plans[letter.Run]
		if p == nil {
			return
		}
		for _, i := range p.byName[letter.Task].all() {
			if i.Index == letter.Index && i.History.Attempts == letter.Attempt && i.Letter == "" {
				i.Letter = letter.ID
				p.touch(i)
			}
		}
	})
}

// paged records that a page was sent.
func (l *loop) paged(in Incident) {
	l.note(func() {
		if p := l.plans[in.Run]; p != nil {
			p.sent(in.Group)
		}
	})
}
