package rowfeed

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/sift"
)

// session is one call of Run.
type session struct {
	cfg    Config
	state  *state
	begin  begin
	in     *input
	out    *outlet
	sink   Sink
	done   []sift.Span
	report Report

	resumed bool

	closers []io.Closer
}

// Run runs until every row is finished or set aside, ctx ends, or continuing makes no sense; see [sift.Run] for its errors.
// The Report describes the work done, also after an error.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, &InputError{err}
	}
	s := &session{cfg: cfg.withDefaults()}
	err := s.open()
	if err == nil {
		err = s.run(ctx)
	}
	for _, c := range slices.Backward(s.closers) {
		err = errors.Join(err, c.Close())
	}
	sorted.Func(s.report.Letters, func(a, b Letter) int { return a.Row - b.Row })
	return s.report, err
}

func (s *session) open() error {
	st, recs, err := openState(s.cfg.State)
	if err != nil {
		return err
	}
	s.state = st
	s.closers = append(s.closers, st)
	var old *begin
	if len(recs) > 0 {
		old = recs[0].Begin
	}
	if s.in, err = s.cfg.openInput(s.beside(".input"), old); err != nil {
		return err
	}
	s.closers = append(s.closers, s.in)
	to, f, length, err := s.cfg.openOutput()
	if err != nil {
		return err
	}
	if s.cfg.OutputPath != "" {
		s.closers = append(s.closers, f)
	}
	hold, err := openHold(s.beside(".hold"))
	if err != nil {
		return err
	}
	s.closers = append(s.closers, hold)
	s.out = &outlet{state: st, to: to, file: f, hold: hold, dead: map[int]bool{}, held: map[int]part{}}
	if old == nil {
		if err := s.name(); err != nil {
			return err
		}
	} else {
		s.begin, s.resumed = *old, true
		if string(s.cfg.Rows.Format) != old.Format && (s.cfg.Rows.Format != "" || old.Format != "lines") {
			return &InputError{fmt.Errorf("the state belongs to rows in the format %s", old.Format)}
		}
	}
	s.report.ID = s.begin.ID
	if s.cfg.Letters != nil {
		if s.sink, err = s.cfg.Letters(s.begin.ID); err != nil {
			return err
		}
		s.closers = append(s.closers, s.sink)
	}
	if err := s.apart(); err != nil {
		return err
	}
	if old == nil {
		if length, err = s.fresh(f, length); err != nil {
			return err
		}
	}
	return s.replay(recs, length)
}

// beside returns the path of a file that belongs to the state; "" without a state.
func (s *session) beside(suffix string) string {
	if s.cfg.State == "" {
		return ""
	}
	return s.cfg.State + suffix
}

// apart checks that input and outputs are different files, before anything is written.
func (s *session) apart() error {
	type named struct {
		name string
		f    *os.File
	}
	all := []named{{"the state", s.state.f}, {"the output", s.out.file}, {"the file of held-back output", s.out.hold}, {"the input", s.in.closer}}
	if letters, ok := s.sink.(*file); ok {
		all = append(all, named{"the dead letters", letters.f})
	}
	seen := map[string]os.FileInfo{}
	for _, n := range all {
		if n.f == nil {
			continue
		}
		st, err := n.f.Stat()
		if err != nil {
			return fmt.Errorf("look at %s: %w", n.name, err)
		}
		if !st.Mode().IsRegular() {
			continue
		}
		for other, have := range seen {
			if os.SameFile(st, have) {
				return &InputError{fmt.Errorf("%s and %s are one file, %s", other, n.name, n.f.Name())}
			}
		}
		seen[n.name] = st
	}
	return nil
}

// name creates the id of a new run.
func (s *session) name() error {
	var id [6]byte
	if _, err := rand.Read(id[:]); err != nil {
		return fmt.Errorf("create the run's id: %w", err)
	}
	format := s.cfg.Rows.Format
	format = cmp.Or(format, "lines")
	s.begin = begin{
		Version: version, ID: "sift-" + hex.EncodeToString(id[:]), Size: s.in.Size, Sum: s.in.Sum,
		Rows: s.in.Rows, Format: string(format),
	}
	return nil
}

// fresh starts from the beginning, and returns the length of the output.
func (s *session) fresh(out *os.File, length int64) (int64, error) {
	if s.cfg.OutputPath != "" && out != nil { // is ours alone
		if err := out.Truncate(0); err != nil {
			return 0, fmt.Errorf("empty the output: %w", err)
		}
		length = 0
	}
	s.begin.Base = length
	return length, s.state.write(record{Begin: &s.begin})
}

// replay restores the progress from the state.
func (s *session) replay(recs []record, length int64) error {
	s.out.end = s.begin.Base
	told := map[int]bool{}
	var letters []sift.Letter
	for _, r := range recs {
		for _, d := range r.Done {
			s.done = append(s.done, sift.Span{From: d[0], To: d[1]})
		}
		if r.Held != nil {
			s.out.held[r.Done[0][0]] = part{r.Done[len(r.Done)-1][1], r.Held[0], r.Held[1]}
		}
		if r.Out != nil {
			s.out.row, s.out.end = r.Out.Row, r.Out.End
		}
		if r.Letter != nil {
			letters = append(letters, *r.Letter)
			s.done = append(s.done, sift.Span{From: r.Letter.Row, To: r.Letter.Row + 1})
			s.out.dead[r.Letter.Row] = true
		}
		for _, row := range r.Told {
			told[row] = true
		}
	}
	for row := range s.out.held { // those already written
		if row < s.out.row {
			delete(s.out.held, row)
		}
	}
	maps.DeleteFunc(s.out.dead, func(row int, _ bool) bool { return row < s.out.row })
	var untold []Letter
	for _, l := range letters {
		full, err := s.keep(l)
		if err != nil {
			return err
		}
		if !told[l.Row] {
			untold = append(untold, full)
		}
	}
	if err := s.tell(untold); err != nil {
		return err
	}
	if s.cfg.State == "" {
		return nil // the output is complete as it is
	}
	return s.out.resume(length)
}

func (s *session) keep(l sift.Letter) (Letter, error) {
	full, err := s.in.letter(s.begin.ID, l, time.Now())
	if err != nil {
		return full, err
	}
	s.report.Total++
	if len(s.report.Letters) < MaxListed {
		s.report.Letters = append(s.report.Letters, full)
	}
	return full, nil
}

// tell passes letters to the sink.
func (s *session) tell(letters []Letter) error {
	if s.sink == nil || len(letters) == 0 {
		return nil
	}
	if err := s.sink.Put(letters); err != nil {
		return err
	}
	rows := each.Of(letters, func(l Letter) int { return l.Row - 1 })
	return s.state.write(record{Told: rows})
}

func (s *session) run(ctx context.Context) (err error) {
	runner := s.cfg.Runner
	if runner == nil {
		var stop func() error
		if runner, stop, err = s.ownRunner(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	s.report.Limits = runner.Limits()
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	f := &feeder{cfg: s.cfg, in: s.in, runner: runner, broken: broken}
	cfg := s.cfg.sift()
	cfg.Rows, cfg.Done = s.in.Rows, s.done
	cfg.Run, cfg.Finish, cfg.SetAside = f.run, s.finish, s.setAside
	cfg.Fit = func(from, to int) int { return s.in.Fit(from, to, s.cfg.BatchBytes) }
	s.report.Summary, err = sift.Run(ctx, cfg)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	if err == nil {
		err = s.out.whole(s.in.Rows)
	}
	return err
}

// ownRunner runs a runner until stop is called.
func (s *session) ownRunner(ctx context.Context) (_ *child.Runner, stop func() error, err error) {
	jobs := s.cfg.child()
	jobs.Mark = s.begin.ID
	runner, err := child.New(jobs)
	if err != nil {
		return nil, nil, &InputError{err}
	}
	if s.resumed { // leftover processes of the last run would work on rows that run again
		n, err := runner.Sweep(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("end processes of the last run: %w", err)
		}
		if n > 0 {
			s.cfg.Log.Info("ended processes of the last run", "processes", n)
		}
	}
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(run) }()
	return runner, func() error { end(); return <-ended }, nil
}

func (s *session) finish(b sift.Batch, o sift.Outcome) error {
	return s.out.finish(b, o.Output.(*spill))
}

// setAside stores a letter in the state before the sink gets it, so that the sink also gets it after a crash.
func (s *session) setAside(l sift.Letter) error {
	if err := s.state.write(record{Letter: &l}); err != nil {
		return err
	}
	full, err := s.keep(l)
	if err != nil {
		return err
	}
	if err := s.tell([]Letter{full}); err != nil {
		return err
	}
	return s.out.drop(l.Row)
}

// The engine's Config is validated before there is an input.
func noRun(context.Context, sift.Batch) sift.Outcome { return sift.Outcome{Class: bezoar.Interrupted} }
func noFinish(sift.Batch, sift.Outcome) error        { return nil }
func noSetAside(sift.Letter) error                   { return nil }
