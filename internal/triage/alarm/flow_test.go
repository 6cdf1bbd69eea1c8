package alarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listener is a webhook without a network, for bubbles.
type listener struct {
	mu     sync.Mutex // guards what follows
	events []Event
	status int           // of answers; 0: 200
	hang   chan struct{} // answers wait for it, if set
	began  chan string   // is told the event, if set
}

func (l *listener) RoundTrip(req *http.Request) (*http.Response, error) {
	var e Event
	if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.events = append(l.events, e)
	hang, began, status := l.hang, l.began, l.status
	l.mu.Unlock()
	if began != nil {
		began <- e.ID
	}
	if hang != nil {
		select {
		case <-hang:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(&bytes.Buffer{})}, nil
}

func (l *listener) answer(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

// take returns what was told since the last call.
func (l *listener) take() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// rig is an engine and a triage service that run, in a bubble.
type rig struct {
	*testing.T
	engine *queue.Engine
	triage *triage.Service
	heard  *listener
}

func test(t *testing.T, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.Open(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, heard: &listener{}}
		if r.engine, err = queue.New(queue.Config{}, db.Queue()); err != nil {
			t.Fatal(err)
		}
		if r.triage, err = triage.New(triage.Config{Queue: r.engine}); err != nil {
			t.Fatal(err)
		}
		s := queue.DefaultSettings()
		for _, name := range []string{"jobs-dlq", "jobs"} {
			if name == "jobs" {
				s.DeadLetter = queue.DeadLetter{Queue: "jobs-dlq", MaxReceives: 3}
			}
			if _, err := r.engine.CreateQueue(t.Context(), name, s, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.run(r.engine.Run)
		r.run(r.triage.Run)
		f(r)
	})
}

func (r *rig) run(service func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := service(ctx); err != nil {
			r.Errorf("a service ended with %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.Cleanup(stop)
	return stop
}

// watch runs one process's alarms.
func (r *rig) watch(rules ...Rule) (a *Alarms, stop func()) {
	r.Helper()
	for i := range rules {
		rules[i].Webhook = "https://hooks.example.com/x"
	}
	a, err := New(Config{Rules: rules, Letters: r.triage})
	if err != nil {
		r.Fatal(err)
	}
	a.teller = tell.New(tell.Config{Transport: r.heard})
	return a, r.run(a.Run)
}

func (r *rig) kill(n int) {
	r.Helper()
	for range n {
		if _, err := r.engine.Send(r.Context(), "jobs", queue.SendInput{Body: []byte("x")}); err != nil {
			r.Fatal(err)
		}
	}
	m, err := r.engine.Receive(r.Context(), "jobs", queue.ReceiveInput{Max: n})
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range m {
		if err := r.engine.Reject(r.Context(), "jobs", one.Receipt, queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: "why"}); err != nil {
			r.Fatal(err)
		}
	}
}

// disown makes it look as if another process told the event of an alarm.
func (r *rig) disown(name string) {
	r.Helper()
	marks, err := r.triage.Marks().Marks(r.Context(), prefix+name)
	if err != nil || len(marks) != 1 {
		r.Fatalf("the state is %+v, %v", marks, err)
	}
	s, err := parse(marks[0])
	if err != nil || s.Pending == nil {
		r.Fatalf("the state is %+v, %v", s, err)
	}
	s.Holder = "died"
	if marks[0].Doc, err = json.Marshal(s); err == nil {
		_, err = r.triage.Marks().PutMark(r.Context(), marks[0])
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) empty() {
	r.Helper()
	if err := r.engine.Purge(r.Context(), "jobs-dlq"); err != nil {
		r.Fatal(err)
	}
}

// one returns the only thing that was told since.
func (r *rig) one() Event {
	r.Helper()
	told := r.heard.take()
	if len(told) != 1 {
		r.Fatalf("told %+v", told)
	}
	return told[0]
}

// Of many processes one tells, each time.
func TestOneOfManyProcessesTells(t *testing.T) {
	test(t, func(r *rig) {
		var all []*Alarms
		for range 4 {
			a, _ := r.watch(Rule{Name: "any", Kind: Depth})
			all = append(all, a)
		}
		time.Sleep(time.Minute + time.Second) // between two looks
		if told := r.heard.take(); len(told) > 0 {
			t.Fatalf("told %+v of nothing", told)
		}
		r.kill(3)
		time.Sleep(time.Minute)
		e := r.one()
		if e.Status != Firing || e.Repeat || e.Value != 3 || e.Text != "any: 3 dead letters in all dead-letter queues, more than 0" {
			t.Errorf("told %+v", e)
		}
		if len(e.Groups) != 1 || e.Groups[0].Count != 3 || e.Groups[0].Group != "bug:f" || e.Groups[0].Reason != "why" || e.Groups[0].Queue != "jobs-dlq" {
			t.Errorf("the causes are %+v", e.Groups)
		}
		for i, a := range all {
			if s := a.Status()[0]; !s.Firing || s.Value != 3 || s.Failure != "" || s.ToldAt.IsZero() {
				t.Errorf("process %d says %+v", i, s)
			}
		}
		time.Sleep(time.Hour)
		if again := r.one(); !again.Repeat || again.ID == e.ID {
			t.Errorf("an hour later told %+v", again)
		}
		r.empty()
		time.Sleep(2 * time.Minute)
		if e := r.one(); e.Status != Resolved {
			t.Errorf("told %+v", e)
		}
		delivered := int64(0)
		for _, a := range all {
			delivered += a.Status()[0].Delivered
		}
		if delivered != 3 {
			t.Errorf("together they told %d times", delivered)
		}
	})
}

func TestTheOldestLetterIsTooOld(t *testing.T) {
	test(t, func(r *rig) {
		r.watch(Rule{Name: "old", Kind: Oldest, Age: time.Hour, Queue: "jobs-dlq"})
		r.kill(1)
		time.Sleep(59 * time.Minute)
		r.kill(1)
		if told := r.heard.take(); len(told) > 0 {
			t.Fatalf("told %+v too soon", told)
		}
		time.Sleep(2 * time.Minute)
		if e := r.one(); e.Kind != Oldest || e.Value < 3600 || e.Value > 3700 || !strings.Contains(e.Text, "more than 1h0m0s") || e.Groups[0].Count != 1 {
			t.Errorf("told %+v", e)
		}
		r.empty()
		r.kill(1)
		time.Sleep(2 * time.Minute)
		if e := r.one(); e.Status != Resolved {
			t.Errorf("told %+v", e)
		}
	})
}

func TestLettersComeTooFast(t *testing.T) {
	test(t, func(r *rig) {
		r.watch(Rule{Name: "fast", Kind: Rate, Above: 10})
		r.kill(9)
		time.Sleep(2 * time.Minute)
		r.kill(9)
		time.Sleep(2 * time.Minute)
		if told := r.heard.take(); len(told) > 0 {
			t.Fatalf("told %+v of 9 a minute", told)
		}
		r.kill(11)
		time.Sleep(time.Minute / 2)
		if e := r.one(); e.Value != 11 || !strings.Contains(e.Text, "11 dead letters within a minute") {
			t.Errorf("told %+v", e)
		}
		time.Sleep(3 * time.Minute)
		if e := r.one(); e.Status != Resolved {
			t.Errorf("told %+v", e)
		}
	})
}

func TestRedrivesAreToldOf(t *testing.T) {
	test(t, func(r *rig) {
		r.watch(Rule{Name: "redrives", Kind: Redrive}, Rule{Name: "elsewhere", Kind: Redrive, Queue: "jobs"})
		r.kill(6)
		time.Sleep(time.Minute)
		tasks, err := r.triage.Do(r.Context(), "ann", triage.Redrive, queue.Selection{Queue: "jobs-dlq"}, triage.Options{}, 6)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if told := r.heard.take(); len(told) > 0 {
			t.Errorf("told before anything has worked: %+v", told)
		}
		m, err := r.engine.Receive(r.Context(), "jobs", queue.ReceiveInput{Max: 6})
		if err != nil || len(m) != 6 {
			t.Fatalf("received %d: %v", len(m), err)
		}
		for _, one := range m {
			if err := r.engine.Delete(r.Context(), "jobs", one.Receipt); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if e := r.one(); e.Status != Over || e.Tasks[0].ID != tasks[0].ID || e.Tasks[0].State != queue.MoveCompleted || e.Tasks[0].Moved != 6 {
			t.Errorf("told %+v", e)
		}
		time.Sleep(2 * time.Hour)
		if told := r.heard.take(); len(told) > 0 {
			t.Errorf("told again: %+v", told)
		}
	})
}

// A process that stops over an event gives it back; one that dies is missed
// after two minutes. The event keeps its id.
func TestAnotherProcessTells(t *testing.T) {
	for name, dies := range map[string]bool{"stops": false, "dies": true} {
		t.Run(name, func(t *testing.T) {
			test(t, func(r *rig) {
				r.heard.hang, r.heard.began = make(chan struct{}), make(chan string)
				_, stop := r.watch(Rule{Name: "any", Kind: Depth})
				r.kill(1)
				first := <-r.heard.began
				limit := heldFor
				if dies {
					r.disown("any") // it does not get to write down how it went
				} else {
					limit = 0
				}
				stop()
				r.heard.take()
				r.heard.hang, r.heard.began = nil, nil
				began := time.Now()
				b, _ := r.watch(Rule{Name: "any", Kind: Depth})
				time.Sleep(limit + 15*time.Second)
				if e := r.one(); e.ID != first || b.Status()[0].Delivered != 1 {
					t.Errorf("told %+v, want event %s", e, first)
				}
				if told := b.Status()[0].ToldAt.Sub(began); dies && told < limit-15*time.Second {
					t.Errorf("told after %v, while the first could still be at it", told)
				}
			})
		})
	}
}

func TestAListenerThatFailsIsTriedAndLeftAlone(t *testing.T) {
	test(t, func(r *rig) {
		r.heard.answer(http.StatusInternalServerError)
		a, _ := r.watch(Rule{Name: "any", Kind: Depth})
		r.kill(1)
		time.Sleep(time.Minute)
		told := r.heard.take()
		if len(told) != tell.Tries {
			t.Fatalf("tried %d times", len(told))
		}
		for _, e := range told {
			if e.ID != told[0].ID {
				t.Errorf("another try has another id: %+v", e)
			}
		}
		if s := a.Status()[0]; s.Undone != 1 || s.Delivered != 0 || !strings.Contains(s.Failure, "Internal Server Error") || strings.Contains(s.Failure, "/x") {
			t.Errorf("the status is %+v", s)
		}
		r.heard.answer(http.StatusForbidden)
		time.Sleep(tellLater)
		if told := r.heard.take(); len(told) != 1 {
			t.Errorf("a refusal was tried %d times", len(told))
		}
		r.heard.answer(http.StatusOK)
		time.Sleep(tellLater)
		if e := r.one(); e.Status != Firing || a.Status()[0].Failure != "" {
			t.Errorf("told %+v, status %+v", e, a.Status()[0])
		}
	})
}

// broken is letters that cannot be counted.
type broken struct{ *triage.Service }

func (broken) Count(context.Context, queue.Selection) (int64, error) {
	return 0, errors.New("disk full")
}

func TestALookThatFailsIsSaidAndRepeated(t *testing.T) {
	test(t, func(r *rig) {
		a, err := New(Config{Rules: []Rule{{Name: "any", Kind: Depth, Command: []string{"true"}}}, Letters: broken{r.triage}})
		if err != nil {
			t.Fatal(err)
		}
		r.run(a.Run)
		time.Sleep(time.Minute)
		if s := a.Status()[0]; s.Failure != "disk full" || !s.Looked.IsZero() {
			t.Errorf("the status is %+v", s)
		}
	})
}
