package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/worker"
)

// maxOutputLine bounds a line of a child's output. Longer lines are broken.
const maxOutputLine = 64 << 10

// workShow prints what a worker does: the output of its children, an event for each message, and the progress.
type workShow struct {
	s     *session
	how   string    // --output
	began time.Time // of the worker

	mu      sync.Mutex // guards all below, and keeps lines whole
	worker  *worker.Worker
	told    int // number of events
	done    int
	failed  map[bezoar.Class]int
	dead    int
	waits   map[string]bool // ids of messages whose last attempt failed or was given back, at most maxWaits: the queue decides about them
	recent  [10]int         // done in each of the last seconds
	second  int64
	drawn   bool
	metrics *metrics.Work // nil: none
	over    chan struct{}
	ended   sync.WaitGroup
}

func newWorkShow(s *session, c *workCmd) *workShow {
	w := &workShow{s: s, how: c.Output, began: s.now(), failed: map[bezoar.Class]int{}, waits: map[string]bool{}, over: make(chan struct{})}
	if width := widthOf(s.Stderr, s.Getenv); width != nil && !s.json {
		w.ended.Go(func() { w.draw(width) })
	}
	return w
}

// draw draws the line of progress once a second.
func (w *workShow) draw(width func() int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		fmt.Fprintf(w.s.Stderr, "\r\x1b[K%s", cut(w.line(), width()-1))
		w.drawn = true
		w.mu.Unlock()
	}
}

// line returns the line of progress. The caller holds the lock.
func (w *workShow) line() string {
	w.roll(w.s.now().Unix())
	rate := 0
	for _, n := range w.recent {
		rate += n
	}
	text := fmt.Sprintf("%s, %d/s", w.messages(), (rate+5)/len(w.recent))
	if w.worker != nil {
		text += fmt.Sprintf(", %d running", w.worker.Running())
	}
	return text + w.failures()
}

// maxWaits bounds the messages that are known not to be done. Beyond it they are not counted.
const maxWaits = 100_000

// messages summarises the messages. Each counts once, however often it ran.
func (w *workShow) messages() string {
	waits := len(w.waits)
	text := fmt.Sprintf("%s %s: %s done", grouped(w.done+w.dead+waits), plural(w.done+w.dead+waits, "message", "messages"), grouped(w.done))
	if w.dead > 0 {
		text += fmt.Sprintf(", %s set aside", grouped(w.dead))
	}
	if waits > 0 {
		text += fmt.Sprintf(", %s not done", grouped(waits))
	}
	return text
}

// failures summarises the failed attempts.
func (w *workShow) failures() string {
	if len(w.failed) == 0 {
		return ""
	}
	var text strings.Builder
	all := 0
	for i, class := range slices.Sorted(maps.Keys(w.failed)) {
		if all += w.failed[class]; i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %s", grouped(w.failed[class]), class)
	}
	return fmt.Sprintf("; %s %s failed (%s)", grouped(all), plural(all, "attempt", "attempts"), text.String())
}

// roll clears the counters of past seconds.
func (w *workShow) roll(now int64) {
	for ; w.second < now; w.second++ {
		if now-w.second > int64(len(w.recent)) {
			w.second = now - int64(len(w.recent))
		}
		w.recent[(w.second+1)%int64(len(w.recent))] = 0
	}
}

// clear removes the line of progress. The caller holds the lock.
func (w *workShow) clear() {
	if w.drawn {
		fmt.Fprint(w.s.Stderr, "\r\x1b[K")
		w.drawn = false
	}
}

// whenIdle calls then once nothing has run for d, with the reason why the queue delivers nothing, if there is one. The time
// begins when the result of the worker's first receive is known.
func (w *workShow) whenIdle(ctx context.Context, d time.Duration, then func(held string)) {
	w.ended.Go(func() {
		tick := time.NewTicker(min(d/10+time.Millisecond, time.Second))
		defer tick.Stop()
		last := time.Now()
		before := -1
		for {
			select {
			case <-w.over:
				return
			case <-tick.C:
			}
			w.mu.Lock()
			busy := w.worker == nil || w.worker.Running() > 0 || w.told != before
			before = w.told
			of := w.worker
			w.mu.Unlock()
			switch {
			case busy:
				last = time.Now()
			case time.Since(last) >= d:
				ask, cancel := context.WithTimeout(ctx, heldFor)
				then(of.Held(ask))
				cancel()
				return
			}
		}
	})
}

// heldFor bounds the question why the queue delivers nothing.
const heldFor = 5 * time.Second

func (w *workShow) watch(of *worker.Worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worker = of
}

// workEvent is an event in JSON, with durations in seconds.
type workEvent struct {
	worker.Event
	Delay   float64 `json:"delay,omitempty"`
	Elapsed float64 `json:"elapsed"`
	CPU     float64 `json:"cpu,omitempty"`
}

// tell is called for every message that has ended.
func (w *workShow) tell(e worker.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told++
	switch {
	case e.Outcome == worker.OutcomeDone:
		w.done++
		w.roll(e.Time.Unix())
		w.recent[e.Time.Unix()%int64(len(w.recent))]++
	case e.Class != bezoar.Done:
		w.failed[e.Class]++
	}
	if e.Outcome == worker.OutcomeDead || e.Outcome == worker.OutcomeRefused {
		w.dead++
	}
	if again := e.Outcome != worker.OutcomeDone && e.Outcome != worker.OutcomeDead && e.Outcome != worker.OutcomeRefused; !again {
		delete(w.waits, e.ID)
	} else if len(w.waits) < maxWaits {
		w.waits[e.ID] = true
	}
	if w.metrics != nil {
		w.metrics.Ended(e.Class.String(), string(e.Outcome), e.Rows, e.Elapsed)
	}
	if w.s.json {
		// Stdout may be closed; that must not stop the work.
		_ = json.NewEncoder(w.s.Stdout).Encode(workEvent{e, e.Delay.Seconds(), e.Elapsed.Seconds(), e.CPU.Seconds()})
		return
	}
	if e.Outcome == worker.OutcomeDone && e.Rows == 0 || e.Outcome == worker.OutcomeReturned && e.Class == bezoar.Interrupted {
		return
	}
	w.clear()
	fmt.Fprintln(w.s.Stderr, w.story(e))
}

// story describes an ended message in one line.
func (w *workShow) story(e worker.Event) string {
	text := fmt.Sprintf("%s %s", w.s.out.paint(cyan, short(e.ID)), w.s.out.paint(yellow, e.Class.String()))
	if e.Reason != "" {
		text += ": " + clean(cut(e.Reason, 200))
	}
	if e.Rows > 0 {
		text += fmt.Sprintf("; %d rows set aside", e.Rows)
	}
	switch e.Outcome {
	case worker.OutcomeRetry:
		text += fmt.Sprintf("; again in %s", e.Delay.Round(time.Second/10))
	case worker.OutcomeDead:
		text += "; set aside: " + clean(e.Why)
	case worker.OutcomeRefused:
		text += "; set aside, undelivered: " + clean(e.Why)
	case worker.OutcomeLeft:
		text += "; left where it is: " + clean(e.Why)
	case worker.OutcomeReturned:
		text += "; given back"
	case worker.OutcomeLost:
		text += "; its lease was lost"
	case worker.OutcomeDone, worker.OutcomeReported:
	}
	return text
}

// short returns the beginning of an id. It keeps an id that shows where its message is.
func short(id string) string {
	if !strings.Contains(id, "@") {
		id = id[:min(len(id), 8)]
	}
	return clean(cut(id, 100))
}

// end prints the result. A worker that could not start prints nothing.
func (w *workShow) end(err error) {
	close(w.over)
	w.ended.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
	if w.told > 0 || err == nil {
		w.s.say("bezoar: %s, in %s%s", w.messages(), w.s.now().Sub(w.began).Round(time.Second/10), w.failures())
	}
}

// log returns where logs go: to stderr, around the line of progress.
func (w *workShow) log() io.Writer { return logWriter{w} }

type logWriter struct{ w *workShow }

func (l logWriter) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.clear()
	return l.w.s.Stderr.Write(b)
}

// output returns where the output of messages goes; nil for nowhere.
func (w *workShow) output() func(m *worker.Message) (stdout, stderr io.WriteCloser) {
	if w.how == "none" {
		return nil
	}
	return func(m *worker.Message) (io.WriteCloser, io.WriteCloser) {
		return &lines{w: w, id: m.ID, stream: "stdout"}, &lines{w: w, id: m.ID, stream: "stderr"}
	}
}

// lines passes on a stream line by line.
type lines struct {
	w          *workShow
	id, stream string
	part       []byte // of an incomplete line
}

func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end >= 0 && len(l.part) == 0 && end <= maxOutputLine {
			l.line(b[:end])
			b = b[end+1:]
			continue
		}
		take := len(b)
		if end >= 0 {
			take = end
		}
		take = min(take, maxOutputLine-len(l.part))
		l.part = append(l.part, b[:take]...)
		b = b[take:]
		if len(b) > 0 {
			l.flush()
			if b[0] == '\n' {
				b = b[1:]
			}
		}
	}
	return n, nil
}

func (l *lines) flush() {
	l.line(l.part)
	l.part = l.part[:0]
}

// Close passes on an incomplete last line.
func (l *lines) Close() error {
	if len(l.part) > 0 {
		l.flush()
	}
	return nil
}

func (l *lines) line(text []byte) {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
	to := w.s.Stdout
	if l.stream == "stderr" {
		to = w.s.Stderr
	}
	switch {
	case w.s.json:
		_ = json.NewEncoder(w.s.Stdout).Encode(struct {
			ID     string `json:"message"`
			Stream string `json:"stream"`
			Line   string `json:"line"`
		}{l.id, l.stream, strings.ToValidUTF8(string(text), "\uFFFD")})
	case w.how == "raw":
		_, _ = to.Write(append(slices.Clip(text), '\n')) // the reader may have closed the pipe
	default:
		w.s.pass(to, short(l.id), string(text))
	}
}

// pass prints a line of a child after the name of its source.
func (s *session) pass(to io.Writer, name, line string) {
	if f, ok := to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		line = harmless(line)
	}
	fmt.Fprintf(to, "%s | %s\n", s.out.paint(cyan, name), line)
}

// harmless makes a line safe for a terminal: a handler may print hostile text from its message.
func harmless(line string) string {
	return clean(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    "))
}
