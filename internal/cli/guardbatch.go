package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// batchLine is what one line of a batch is answered with.
type batchLine struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Verdict  guard.Outcome   `json:"verdict"`
	Regex    string          `json:"regex,omitempty"`
	Findings []guard.Finding `json:"findings"`
	More     int             `json:"more,omitempty"`
	Caps     []string        `json:"caps,omitempty"`
	Body     string          `json:"body,omitempty"`      // as caps leave it
	RawQuery string          `json:"raw_query,omitempty"` // likewise
	Cost     float64         `json:"cost"`
	Class    string          `json:"class,omitempty"`
	HintsAge string          `json:"hints_age,omitempty"`
	Note     string          `json:"note,omitempty"`  // what was taken for something else
	Error    string          `json:"error,omitempty"` // why the line could not be read
}

// lineOf is a verdict as a line says it. It shares the verdict's memory.
func lineOf(v *guard.Verdict) batchLine {
	out := batchLine{
		Verdict: v.Verdict, Regex: v.Regex, Findings: v.Findings, More: v.More, Caps: v.Caps,
		Body: string(v.Body), RawQuery: v.RawQuery, Cost: v.Cost, Class: v.Class,
	}
	if out.Findings == nil {
		out.Findings = []guard.Finding{}
	}
	if v.HintsAge > 0 {
		out.HintsAge = v.HintsAge.Round(time.Second).String()
	}
	return out
}

// batchJob is a line on its way: judged by one of several, and written in its
// turn.
type batchJob struct {
	n       int
	line    []byte
	err     error // why there is none
	out     bytes.Buffer
	verdict guard.Outcome
	unread  bool
	done    chan struct{}
}

// batchAhead bounds the lines that are on their way, but for one that is longer
// by itself.
const batchAhead = 16 << 20

// batcher judges lines on all processors. Its answers come in the order of the
// lines, each as soon as it can.
type batcher struct {
	check   *guardCheckCmd
	guard   *guard.Guard
	work    chan *batchJob // for whoever is free
	order   chan *batchJob // the same, for who writes
	free    sync.Pool      // of *batchJob
	mu      sync.Mutex     // guards pending
	spared  *sync.Cond     // pending became less, or everything ended
	pending int            // bytes of lines on their way
	ended   bool
}

// batch answers each line of the file with one.
func (c *guardCheckCmd) batch(s *session, g *guard.Guard) error {
	lines, err := openLines(s, []string{c.Batch})
	if err != nil {
		return err
	}
	const ahead = 256 // lines on their way, at most
	b := &batcher{check: c, guard: g, work: make(chan *batchJob, ahead), order: make(chan *batchJob, ahead)}
	b.spared = sync.NewCond(&b.mu)
	b.free.New = func() any { return &batchJob{done: make(chan struct{}, 1)} }
	ctx, cancel := context.WithCancel(s)
	var wg sync.WaitGroup
	for range max(runtime.GOMAXPROCS(0), 1) {
		wg.Go(b.judge)
	}
	in, done := lines.watched()
	defer done()
	read := make(chan error, 1)
	wg.Go(func() {
		read <- b.read(ctx, in)
		close(b.order)
		close(b.work)
	})
	began := s.now()
	sum, err := b.write(s.Stdout)
	cancel()
	b.end()
	switch {
	case errors.Is(err, errSeenEnough):
		return nil
	case err == nil: // otherwise the others end with their next line, for which nobody waits
		err = <-read
		wg.Wait()
	}
	if _, told := errors.AsType[*exitError](err); told { // with the file's name
		return err
	}
	if err != nil {
		return fmt.Errorf("judge %s: %w", clean(c.Batch), err)
	}
	return sum.tell(s, s.now().Sub(began))
}

// read hands out the lines.
func (b *batcher) read(ctx context.Context, r io.Reader) error {
	return guard.Lines(r, func(n int, line []byte, err error) error {
		b.reserve(len(line))
		j := b.free.Get().(*batchJob)
		j.n, j.err, j.line = n, err, append(j.line[:0], line...)
		select {
		case b.order <- j:
			b.work <- j // has room whenever order has
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// reserve waits until so many bytes more may be on their way.
func (b *batcher) reserve(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.pending > 0 && b.pending+n > batchAhead && !b.ended {
		b.spared.Wait()
	}
	b.pending += n
}

func (b *batcher) release(n int) {
	b.mu.Lock()
	b.pending -= n
	b.mu.Unlock()
	b.spared.Signal()
}

func (b *batcher) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.spared.Signal()
}

// judge answers lines until there are no more.
func (b *batcher) judge() {
	var v guard.Verdict
	for j := range b.work {
		j.out.Reset()
		e := json.NewEncoder(&j.out)
		e.SetEscapeHTML(false)
		answer := b.check.answer(b.guard, j.n, j.line, j.err, &v)
		j.verdict, j.unread = answer.Verdict, answer.Error != ""
		if err := e.Encode(answer); err != nil { // an id that is no JSON cannot come here
			fmt.Fprintf(&j.out, "{\"id\":null,\"verdict\":\"reject\",\"findings\":[],\"cost\":0,\"error\":%q}\n", err)
		}
		j.done <- struct{}{}
	}
}

// maxKeptLine bounds the memory that a job keeps for the next line.
const maxKeptLine = 64 << 10

// write writes the answers in their order. It flushes whenever it has to wait:
// whoever feeds lines one by one waits for this one.
func (b *batcher) write(w io.Writer) (batchSum, error) {
	var sum batchSum
	out := bufio.NewWriterSize(w, 64<<10)
	for j := range b.order {
		select {
		case <-j.done:
		default:
			if err := out.Flush(); err != nil {
				return sum, gone(err)
			}
			<-j.done
		}
		sum.add(j)
		if _, err := out.Write(j.out.Bytes()); err != nil {
			return sum, gone(err)
		}
		b.release(len(j.line))
		if cap(j.line) <= maxKeptLine && j.out.Cap() <= maxKeptLine {
			b.free.Put(j)
		}
		if len(b.order) == 0 {
			if err := out.Flush(); err != nil {
				return sum, gone(err)
			}
		}
	}
	return sum, gone(out.Flush())
}

// errSeenEnough ends a batch whose reader has gone.
var errSeenEnough = errors.New("the reader of the answers has gone")

func gone(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return errSeenEnough
	}
	return err
}

// batchSum is what became of a batch.
type batchSum struct {
	queries, unread                     int
	accepted, capped, reported, refused int
}

func (t *batchSum) add(j *batchJob) {
	t.queries++
	if j.unread {
		t.unread++
		return
	}
	switch j.verdict {
	case guard.Accepted:
		t.accepted++
	case guard.Capped:
		t.capped++
	case guard.Reported:
		t.reported++
	case guard.Rejected:
		t.refused++
	}
}

// tell says in a line what became of a batch, and how fast.
func (t *batchSum) tell(s *session, took time.Duration) error {
	unread := ""
	if t.unread > 0 {
		unread = fmt.Sprintf(", %d unread", t.unread)
	}
	s.say("%s in %s, %.0f a second: %d accepted, %d reported, %d capped, %d rejected%s", count(int64(t.queries), "query", "queries"),
		took.Round(time.Millisecond), float64(t.queries)/max(took.Seconds(), 1e-9), t.accepted, t.reported, t.capped, t.refused, unread)
	switch t.unread {
	case 0:
		return nil
	case t.queries:
		return exitf(exitUsage, "%s could be read", noneOf(int64(t.queries)))
	}
	return exitf(exitPartly, "%d of %d lines could not be read", t.unread, t.queries)
}

// noneOf is the subject of what holds for no line.
func noneOf(lines int64) string {
	if lines == 1 {
		return "not one line"
	}
	return fmt.Sprintf("none of %d lines", lines)
}

// answer judges one line. One that cannot be read is rejected: nobody knows what
// it would do.
func (c *guardCheckCmd) answer(g *guard.Guard, n int, line []byte, err error, v *guard.Verdict) batchLine {
	var r guard.Record
	if err == nil {
		r, err = guard.ParseRecord(line)
	}
	id := r.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	if err != nil {
		return batchLine{
			ID: id, Verdict: guard.Rejected, Error: fmt.Sprintf("line %d: %s", n, err),
			Findings: []guard.Finding{{
				Predictor: "unparsable", Path: "line", Line: n, Value: 1, Action: guard.Reject,
				Fix: `write a JSON object with kind, and request and body, sql, pattern or graphql`,
			}},
		}
	}
	q := r.Query
	q.Class = first(c.Class, q.Class)
	if q.Class == "" {
		q.Class = g.Classify(r.Caller)
	}
	q.Dialect = first(q.Dialect, c.Dialect)
	note := knownDialect(&q)
	g.Check(&q, v)
	out := lineOf(v)
	out.ID, out.Note = id, note
	return out
}

// knownDialect puts the default dialect in the place of one that nobody knows, and
// says so: a pattern that goes unread tells less than one that is read as another
// engine does.
func knownDialect(q *guard.Query) (note string) {
	if q.Kind != guard.SQL && q.Kind != guard.Regex {
		return ""
	}
	if _, err := q.Kind.ParseDialect(q.Dialect); err == nil {
		return ""
	}
	note = fmt.Sprintf("there is no dialect %.40q, or it has no such flags: judged as the default one", q.Dialect)
	if q.Kind == guard.Regex {
		_, flags, _ := strings.Cut(q.Dialect, "/")
		q.Dialect = "/" + flags
	}
	return note
}
