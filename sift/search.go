package sift

import (
	"context"

	"github.com/bezoar-dev/bezoar"
)

// sift finishes or sets aside all rows of rest.
func (s *sifter) sift(ctx context.Context, rest pieces) error {
	var later []suspect
	piece := rest.rows()
	for len(rest) > 0 {
		p, tail := rest[0].split(s.within(piece))
		rest = pieces{tail}.then(rest[1:]...)
		o, err := s.try(ctx, p, s.cfg.Attempts)
		if err != nil {
			return err
		}
		if !o.failed() {
			if err := s.finish(p, o); err != nil {
				return err
			}
			piece = grown(piece)
			continue
		}
		if left, ok := s.blamed(p, o); ok {
			rest = pieces{left}.then(rest...)
			piece = left.Len()
			continue
		}
		guilty, cleared, err := s.doubt(ctx, pieces{p}, &rest, o)
		if err != nil {
			return err
		}
		if cleared {
			piece = guilty.rows()
			rest = guilty.then(rest...)
			continue
		}
		found, err := s.search(ctx, guilty, o, p.Len() == 1)
		if err != nil {
			return err
		}
		rest = found.left.then(rest...)
		if found.row.Len() == 0 {
			piece = found.left.rows()
			continue
		}
		piece = firstPiece * max(1, found.passed)
		if s.known() && !found.alone && len(rest) > 0 {
			later = append(later, found)
			continue
		}
		if err := s.judge(ctx, found, &rest); err != nil {
			return err
		}
	}
	for _, x := range later {
		if err := s.judge(ctx, x, &rest); err != nil {
			return err
		}
	}
	return nil
}

// within is n, or the limit while there is one.
func (s *sifter) within(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 {
		n = min(n, s.limit)
	}
	return max(1, n)
}

// known reports whether a row was convicted: that it is rows is then known.
func (s *sifter) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.convicts > 0
}

// grown is how many rows are tried after so many have worked. Squaring gets back
// to large runs within a few.
func grown(n int) int {
	if n >= 1<<15 {
		return 1 << 30
	}
	return max(2, n*n)
}

// blamed takes the rows out that a failed run of b names, and returns the rest.
// That is not believed when it names all of several, or none.
func (s *sifter) blamed(b Batch, o Outcome) (Batch, bool) {
	rows, letters := blames(b, o)
	if len(rows) == 0 || len(rows) == b.Len() && b.Len() > 1 {
		return b, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, letters...)
	s.convicts += len(letters)
	return b.without(rows), true
}

// suspect is what a search comes to.
type suspect struct {
	row    Batch   // the one row that must be guilty; none when that is not known
	fail   Outcome // the failed run that says so
	alone  bool    // that was a run of the row alone …
	votes  int     // … and so many failures alike speak against it
	runs   int     // failed runs that it was in
	works  int     // runs that had worked before the first of them
	left   pieces  // what is not finished behind it
	passed int     // rows that were finished on the way
	from   Span    // the rows that failed first
	small  int     // the least rows that failed
}

// search finds the first guilty row of g, which failed as o says, and finishes
// what is before it.
func (s *sifter) search(ctx context.Context, g pieces, o Outcome, alone bool) (suspect, error) {
	x := suspect{fail: o, alone: alone, votes: 1, runs: 1, small: g.rows(), from: Span{g[0].Extent().From, g[len(g)-1].Extent().To}}
	s.mu.Lock()
	x.works = s.works
	s.mu.Unlock()
	for g.rows() > 1 {
		s.suspect(g.rows())
		l, r := g.halves()
		o, err := s.try(ctx, l, s.patient(x.fail))
		s.suspect(-g.rows())
		if err != nil {
			return x, err
		}
		named, _ := blames(l, o)
		switch left, ok := s.blamedIn(l, o); {
		case ok: // the rest of l is not done, and what is behind it not known
			x.left = pieces{left}.then(r...).then(x.left...)
			return x, nil
		case o.failed():
			x.votes = 1
			if alike(x.fail, o) && !o.transient() {
				x.votes = 2
			}
			x.left = r.then(x.left...)
			g, x.fail, x.alone = pieces{l}, o, l.Len() == 1
			x.small, x.runs = l.Len(), x.runs+1
			continue
		}
		if err := s.finish(l, o); err != nil {
			return x, err
		}
		x.passed += l.Len()
		if len(named) > 0 || tooLong(x.fail, o) {
			x.left = r.then(x.left...)
			if len(named) == 0 {
				s.together(x, l.Len(), true)
			}
			return x, nil
		}
		g, x.alone = r, false
	}
	x.row = g[0]
	return x, nil
}

// blamedIn is blamed, for a run that failed.
func (s *sifter) blamedIn(l Batch, o Outcome) (Batch, bool) {
	if !o.failed() {
		return l, false
	}
	return s.blamed(l, o)
}

// tooLong reports whether a run may have timed out because of its size alone,
// seeing how long its half took.
func tooLong(whole, half Outcome) bool {
	return whole.Class == bezoar.Timeout && 4*half.Elapsed >= whole.Elapsed
}

// patient is how often a run is tried while looking for what failed so: what
// fails for now was tried often enough.
func (s *sifter) patient(o Outcome) int {
	if o.transient() {
		return 1
	}
	return s.cfg.Attempts
}

func (s *sifter) suspect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspects += n
}

// judge tries a suspect alone, until two failures alike speak against it. Rows
// of rest may be tried, and are then taken out of it.
func (s *sifter) judge(ctx context.Context, x suspect, rest *pieces) error {
	for !x.alone || x.votes < 2 && x.fail.Class != bezoar.Invalid {
		s.suspect(1)
		o, err := s.try(ctx, x.row, s.cfg.Attempts)
		s.suspect(-1)
		if err != nil {
			return err
		}
		if !o.failed() {
			if err := s.finish(x.row, o); err != nil {
				return err
			}
			s.together(x, x.small/2, false)
			return nil
		}
		if _, ok := s.blamed(x.row, o); ok {
			return nil
		}
		x.votes = 1
		if x.alone || alike(o, x.fail) {
			x.votes = 2
		}
		x.alone, x.fail, x.runs = true, o, x.runs+1
	}
	return s.convict(ctx, x, rest)
}

// convict sets a row aside. When nothing has worked since it was suspected, the
// letter waits until something does, and after a few of that kind it is asked
// whether the command still works at all.
func (s *sifter) convict(ctx context.Context, x suspect, rest *pieces) error {
	l := Letter{Row: x.row.Row(0), Class: x.fail.Class, Failure: x.fail.Failure, Runs: x.runs}
	s.mu.Lock()
	idle := s.works == x.works && !s.cfg.Blame
	if idle {
		s.held = append(s.held, l)
		s.convicts++
		s.streak++
	}
	asks := s.streak >= streak
	if asks {
		s.streak = 0
	}
	s.mu.Unlock()
	if !idle {
		return s.tell(func() error { return s.setAside(l) })
	}
	if !asks {
		return nil
	}
	_, _, err := s.ask(ctx, nil, rest, x.fail)
	return err
}

// together notes that rows fail together and none of them alone, and that runs
// are to have at most limit rows for a while.
func (s *sifter) together(x suspect, limit int, size bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Together{Rows: x.from, Class: x.fail.Class, Failure: x.fail.Failure, Size: size}
	if len(s.sum.Together) < MaxTogether {
		s.sum.Together = append(s.sum.Together, t)
	} else {
		s.sum.TogetherMore++
	}
	if s.limit > 0 {
		s.patience = min(2*s.patience, maxPatience)
	}
	if limit = max(1, limit); s.limit == 0 || limit < s.limit {
		s.limit = limit
	}
	s.good = 0
}
