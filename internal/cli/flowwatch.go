package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// flowView shows the progress of a run.
type flowView interface {
	show(r *flowapi.Run)
	end(r *flowapi.Run)
	io.Writer // gets lines of the log
}

// newFlowView draws a tree on a terminal, and writes lines elsewhere.
func (s *session) newFlowView() flowView {
	switch f, ok := s.Stdout.(*os.File); {
	case s.json:
		return &jsonView{s: s, seen: map[string]string{}}
	case ok && s.out.width != nil:
		return &treeView{s: s, rows: func() int {
			if _, rows, err := term.GetSize(int(f.Fd())); err == nil && rows > 3 {
				return rows
			}
			return 24
		}}
	default:
		return &lineView{s: s, seen: map[string]string{}}
	}
}

// watchRun shows a run until it or ctx is over, and returns it as it was read last. settled checks whether a run that seems
// to be over really is; nil means that it always is.
func watchRun(ctx context.Context, flows flowapi.Flows, id string, view flowView, settled func(context.Context, string) (bool, error)) (flowapi.Run, error) {
	const most, least = 100 * time.Millisecond, 5 * time.Millisecond
	start := time.Now()
	var last flowapi.Run
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-timer.C:
		}
		began := time.Now()
		r, err := flows.Run(ctx, id)
		if err != nil {
			return last, err
		}
		last = r
		over := r.Over()
		if over && settled != nil {
			// The run may have been read before an order changed it, so read it again.
			if over, err = settled(ctx, id); err != nil {
				return last, err
			}
			if over {
				settled = nil
				timer.Reset(0)
			} else {
				timer.Reset(least)
			}
			continue
		}
		if over {
			view.end(&r)
			return r, nil
		}
		view.show(&r)
		// The end of a short run is noticed soon. Reading a run of many tasks takes time: leave most of the time to the run.
		timer.Reset(max(min(most, time.Since(start)/20), least, 10*time.Since(began)))
	}
}

// treeView draws a tree in place. Each frame is one write. Terminals with synchronized output show it at once; others
// overwrite line by line.
type treeView struct {
	s    *session
	rows func() int

	mu    sync.Mutex // guards the rest: other goroutines write the log
	drawn int        // lines of the last frame
	frame []string
}

func (v *treeView) show(r *flowapi.Run) {
	lines := treeOf(v.s.out, r, v.s.now(), v.rows()-1)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw(lines)
}

func (v *treeView) end(r *flowapi.Run) {
	v.mu.Lock()
	v.draw(nil)
	v.mu.Unlock()
	writeRun(v.s.out, r, v.s.now())
}

// draw replaces the last frame.
func (v *treeView) draw(lines []string) {
	var b strings.Builder
	b.WriteString("\x1b[?2026h")
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, line := range lines {
		b.WriteString("\r" + line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	v.s.out.printf("%s", b.String())
	v.drawn, v.frame = len(lines), lines
}

// Write puts a line of the log above the tree.
func (v *treeView) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := v.frame
	v.draw(nil)
	n, err := v.s.Stderr.Write(p)
	v.draw(lines)
	return n, err
}

// lineView writes a line for each important change.
type lineView struct {
	s    *session
	seen map[string]string
}

func (v *lineView) Write(p []byte) (int, error) { return v.s.Stderr.Write(p) }

func (v *lineView) show(r *flowapi.Run) {
	if v.seen[""] == "" {
		v.seen[""] = r.ID
		v.s.out.printf("run %s of %s\n", r.ID, clean(r.Flow))
	}
	for i := range r.Tasks {
		v.task(&r.Tasks[i])
	}
}

func (v *lineView) task(t *flowapi.Task) {
	if t.State == task.Pending || t.State == task.Ready {
		return
	}
	now := fmt.Sprint(t.State, " ", t.Counts[task.DeadLetter], " ", t.Counts[task.Failed])
	if v.seen[t.Name] == now {
		return
	}
	v.seen[t.Name] = now
	line := fmt.Sprintf("%s  %-16s %-15s", v.s.now().Format("15:04:05"), cut(clean(t.Name), 40), t.State)
	if t.State.Over() && !t.First.IsZero() {
		line += " " + lasted(t.First, t.Ended, v.s.now())
	}
	if note := noteOf(t, nil, v.s.now()); note != "" {
		line += "  " + note
	}
	v.s.out.printf("%s\n", strings.TrimRight(line, " "))
}

func (v *lineView) end(r *flowapi.Run) {
	v.show(r)
	v.s.out.printf("\n")
	writeRun(v.s.out, r, v.s.now())
}

// jsonView writes a JSON line for each change, and the run at the end.
type jsonView struct {
	s    *session
	seen map[string]string
}

// flowChange is a line of --json.
type flowChange struct {
	At     time.Time          `json:"at"`
	Run    string             `json:"run"`
	Task   string             `json:"task"`
	State  task.State         `json:"state"`
	Why    string             `json:"why,omitempty"`
	Counts map[task.State]int `json:"counts"`
}

func (v *jsonView) Write(p []byte) (int, error) { return v.s.Stderr.Write(p) }

func (v *jsonView) show(r *flowapi.Run) {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if now := fmt.Sprint(t.State, t.Counts); v.seen[t.Name] != now {
			v.seen[t.Name] = now
			v.line(flowChange{At: v.s.now(), Run: r.ID, Task: t.Name, State: t.State, Why: t.Why, Counts: t.Counts})
		}
	}
}

func (v *jsonView) end(r *flowapi.Run) {
	v.show(r)
	v.line(map[string]any{"result": r})
}

func (v *jsonView) line(doc any) {
	if err := v.s.line(doc); err != nil && v.s.out.err == nil {
		v.s.out.err = err
	}
}
