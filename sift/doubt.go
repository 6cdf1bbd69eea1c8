package sift

import (
	"context"

	"github.com/bezoar-dev/bezoar"
)

// doubt asks after a failure whether it is rows at all, unless something has
// worked. It returns guilty without the rows that were tried; cleared says that
// one of these explains the failure.
func (s *sifter) doubt(ctx context.Context, guilty pieces, rest *pieces, o Outcome) (left pieces, cleared bool, err error) {
	s.mu.Lock()
	works := s.works
	s.mu.Unlock()
	if works > 0 && !o.transient() {
		return guilty, false, nil
	}
	return s.ask(ctx, guilty, rest, o)
}

// ask tries two single rows from different places, which nobody else works on.
// If both fail alike, it is not the rows. Where there are not so many, no row
// at all is tried.
func (s *sifter) ask(ctx context.Context, guilty pieces, rest *pieces, o Outcome) (left pieces, cleared bool, err error) {
	s.mu.Lock()
	works := s.works
	s.mu.Unlock()
	var failed []suspect
	for _, place := range []float64{0.618, 0.236} {
		row, left := s.elsewhere(guilty, rest, place)
		if row.Len() == 0 {
			if err := s.empty(ctx, o, works); err != nil {
				return left, false, err
			}
			break
		}
		now, err := s.try(ctx, row, 1)
		if err != nil {
			return left, false, err
		}
		mine := left.rows() < guilty.rows()
		guilty = left
		if !now.failed() {
			if err := s.finish(row, now); err != nil {
				return guilty, false, err
			}
			break
		}
		cleared = cleared || mine
		if err := s.nothingWorks(row, now); err != nil {
			return guilty, false, err
		}
		x := suspect{row: row, fail: now, alone: true, votes: 1, runs: 1, small: 1, works: works}
		if mine { // the first failure was its, too
			x.runs = 2
		}
		if alike(now, o) && !now.transient() {
			x.votes = 2
		}
		failed = append(failed, x)
	}
	if len(failed) == 2 {
		a, b := failed[0].fail, failed[1].fail
		if alike(a, b) || a.transient() && b.transient() {
			return guilty, false, s.notTheRows(failed, o)
		}
	}
	for _, x := range failed {
		if err := s.judge(ctx, x, rest); err != nil {
			return guilty, false, err
		}
	}
	return guilty, cleared || guilty.rows() == 0, nil
}

// nothingWorks counts single rows that failed while nothing has worked yet: of so
// many not all are bad, whatever they fail of.
func (s *sifter) nothingWorks(row Batch, o Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works > 0 || o.transient() {
		return nil
	}
	if s.vain = append(s.vain, row.Row(0)); len(s.vain) < inVain {
		return nil
	}
	return &CommandError{Class: o.Class, Failure: o.Failure, Tried: s.vain}
}

// empty tries without rows whether what failed as o says is the command. Where
// something has worked before, that would say nothing.
func (s *sifter) empty(ctx context.Context, o Outcome, works int) error {
	if o.transient() {
		return &OutageError{Class: o.Class, Failure: o.Failure, Attempts: s.cfg.Attempts}
	}
	if works > 0 {
		return nil
	}
	now, err := s.try(ctx, Batch{}, 1)
	if err != nil {
		return err
	}
	if !now.failed() {
		now.drop()
	}
	if alike(now, o) {
		return &CommandError{Class: o.Class, Failure: o.Failure, Empty: true}
	}
	return nil
}

func (s *sifter) notTheRows(failed []suspect, o Outcome) error {
	last := failed[len(failed)-1].fail
	if last.transient() {
		return &OutageError{Class: last.Class, Failure: last.Failure, Attempts: s.cfg.Attempts}
	}
	e := &CommandError{Class: last.Class, Failure: last.Failure}
	if o.Class == bezoar.OOM || o.Class == bezoar.Timeout {
		e.Class, e.Failure = o.Class, o.Failure
	}
	for _, x := range failed {
		e.Tried = append(e.Tried, x.row.Row(0))
	}
	return e
}

// elsewhere takes a row out of what is not handed out yet, guilty and rest, at
// about the given part of it. A single guilty row is left alone.
func (s *sifter) elsewhere(guilty pieces, rest *pieces, place float64) (Batch, pieces) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := 0
	if guilty.rows() > 1 {
		mine = guilty.rows()
	}
	n := int(place * float64(mine+rest.rows()+s.cfg.Rows-s.next))
	if n < mine {
		row := guilty.row(n)
		return one(row), guilty.cut(row)
	}
	if n -= mine; n < rest.rows() {
		row := rest.row(n)
		*rest = rest.cut(row)
		return one(row), guilty
	}
	n -= rest.rows()
	free := s.closed.free(s.next+n, s.cfg.Rows)
	if free.Len() == 0 {
		free = s.closed.free(s.next, s.cfg.Rows)
	}
	switch {
	case free.Len() > 0:
		s.closed.add(Span{free.From, free.From + 1})
		return one(free.From), guilty
	case rest.rows() > 0:
		row := rest.row(0)
		*rest = rest.cut(row)
		return one(row), guilty
	case mine > 1:
		row := guilty.row(0)
		return one(row), guilty.cut(row)
	}
	return Batch{}, guilty
}

func one(row int) Batch { return BatchOf(Span{row, row + 1}) }

func (p pieces) row(n int) int {
	for _, b := range p {
		if n < b.Len() {
			return b.Row(n)
		}
		n -= b.Len()
	}
	panic("sift: no such row")
}
