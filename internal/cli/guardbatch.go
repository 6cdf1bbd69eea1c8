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

// lineOf converts a verdict to a line. The line shares the verdict's memory.
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

// batchJob is a line in progress: one of several goroutines judges it, and it is written in its turn.
type batchJob struct {
	n       int
	line    []byte
	err     error // why there is no line
	out     bytes.Buffer
	verdict guard.Outcome
	unread  bool
	done    chan struct{}
}

// batchAhead bounds the bytes of lines in progress, except for a single longer line.
const batchAhead = 16 << 20

// batcher judges lines on all processors. The answers come in the order of the lines, each as soon as possible.
type batcher struct {
	check   *guardCheckCmd
	guard   *guard.Guard
	work    chan *batchJob // for the next free goroutine
	order   chan *batchJob // the same jobs, for the writer
	free    sync.Pool      // of *batchJob
	mu      sync.Mutex     // guards pending
	spared  *sync.Cond     // pending has fallen, or everything has ended
	pending int            // bytes of lines in progress
	ended   bool
}

// batch writes one answer for each line of the file.
func (c *guardCheckCmd) batch(s *session, g *guard.Guard) error {
	lines, err := openLines(s, []string{c.Batch})
	if err != nil {
		return err
	}
	const ahead = 256 // lines in progress, at most
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
	case err == nil: // otherwise the goroutines end with their next line, and nobody waits for it
		err = <-read
		wg.Wait()
	}
	if _, told := errors.AsType[*exitError](err); told { // it already names the file
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
			b.work <- j // never blocks if order has room
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// reserve waits until n more bytes may be in progress.
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
		if err := e.Encode(answer); err != nil { // an id that is not JSON never gets here
			fmt.Fprintf(&j.out, "{\"id\":null,\"verdict\":\"reject\",\"findings\":[],\"cost\":0,\"error\":%q}\n", err)
		}
		j.done <- struct{}{}
	}
}

// maxKeptLine bounds the memory that a job keeps for the next line.
const maxKeptLine = 64 << 10

// write writes the answers in their order. It flushes before it waits, because a caller that sends lines one by one waits
// for the answer.
func (b *batcher) write(w io.Writer) (batchSum, error) {
	sum := batchSum{of: map[guard.Outcome]int{}}
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

// errSeenEnough ends a batch whose reader has closed the pipe.
var errSeenEnough = errors.New("the reader of the answers has gone")

func gone(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return errSeenEnough
	}
	return err
}

// batchSum counts the results of a batch.
type batchSum struct {
	queries, unread int
	of              map[guard.Outcome]int // of those that could be read
}

func (t *batchSum) add(j *batchJob) {
	t.queries++
	if j.unread {
		t.unread++
		return
	}
	t.of[j.verdict]++
}

// tell prints the counts of a batch, and its speed, in one line.
func (t *batchSum) tell(s *session, took time.Duration) error {
	unread := ""
	if t.unread > 0 {
		unread = fmt.Sprintf(", %d unread", t.unread)
	}
	s.say("%s in %s, %.0f a second: %d accepted, %d reported, %d capped, %d rejected%s", count(int64(t.queries), "query", "queries"),
		took.Round(time.Millisecond), float64(t.queries)/max(took.Seconds(), 1e-9),
		t.of[guard.Accepted], t.of[guard.Reported], t.of[guard.Capped], t.of[guard.Rejected], unread)
	switch t.unread {
	case 0:
		return nil
	case t.queries:
		return exitf(exitUsage, "%s could be read", noneOf(int64(t.queries)))
	}
	return exitf(exitPartly, "%d of %d lines could not be read", t.unread, t.queries)
}

// noneOf returns the subject of a sentence about no line.
func noneOf(lines int64) string {
	if lines == 1 {
		return "not one line"
	}
	return fmt.Sprintf("none of %d lines", lines)
}

// answer judges one line. A line that cannot be read is rejected, because its cost is unknown.
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

// knownDialect replaces an unknown dialect by the default one and returns a note. Reading the pattern as the default engine
// does tells more than not reading it.
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
