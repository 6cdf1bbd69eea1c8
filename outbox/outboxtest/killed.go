package outboxtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Child is a relay process that runs until it is killed. The test binary starts itself with
// the environment of [Child.Env] and calls Relay.
type Child struct {
	File      string // file for its deliveries
	Gate      string // while this file exists, the sink does not return
	Flaky     bool   // the sink fails in the middle of some batches
	ParkAfter int
	Lease     time.Duration
}

// childEnv is the variable that configures a child.
const childEnv = "BEZOAR_OUTBOXTEST_CHILD"

// Env returns the environment variable for the child.
func (c Child) Env() string {
	text, _ := json.Marshal(c) // plain fields always encode
	return childEnv + "=" + string(text)
}

// ChildOf returns the configuration of a child process; ok is false in the test itself.
func ChildOf() (c Child, ok bool, err error) {
	text := os.Getenv(childEnv)
	if text == "" {
		return c, false, nil
	}
	return c, true, json.Unmarshal([]byte(text), &c)
}

// Relay relays from store until the process ends.
func (c Child) Relay(store outbox.Store) error {
	file, err := os.OpenFile(c.File, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	r, err := outbox.New(fast(outbox.Config{
		Store: store, Owner: "child", ParkAfter: c.ParkAfter, Lease: c.Lease, Events: 20, Sinks: to(&fileSink{file, c.Gate, c.Flaky}),
	}))
	if err != nil {
		return err
	}
	return r.Run(context.Background())
}

// fileSink appends a line per record. It kills the process at an event with the ID kills.
type fileSink struct {
	file  *os.File
	gate  string
	flaky bool
}

func (s *fileSink) Send(_ context.Context, records []outbox.Record) []error {
	for i, r := range records {
		if s.flaky && rand.IntN(200) == 0 { // the destination fails in the middle
			results := make([]error, len(records))
			for k := range results[i:] {
				results[i+k] = outbox.ErrBehind
			}
			results[i] = &outbox.Failure{Class: bezoar.Transient, Reason: "broken off"}
			return results
		}
		if r.ID == "kills" {
			_, _ = s.file.WriteString("kills\n")
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		line, err := json.Marshal(outbox.Record{Event: outbox.Event{ID: r.ID, Key: r.Key}, Position: r.Position, Sequence: r.Sequence})
		if err == nil {
			_, err = s.file.Write(append(line, '\n'))
		}
		if err != nil {
			return []error{err}
		}
	}
	for s.gate != "" {
		if _, err := os.Stat(s.gate); err != nil {
			break
		}
		time.Sleep(time.Millisecond) // the process waits for another process
	}
	return make([]error, len(records))
}

func (s *fileSink) Close() error { return nil }

// lines returns what children delivered, and how many died of the event that kills.
func lines(t testing.TB, file string) (got []outbox.Record, deaths int) {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0
	}
	suite.Must(t, err)
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var r outbox.Record
		switch err := json.Unmarshal(scan.Bytes(), &r); {
		case strings.HasSuffix(scan.Text(), "kills"):
			deaths++
		case err == nil: // otherwise the writer was killed
			got = append(got, r)
		}
	}
	return got, deaths
}

func (s *rig) start(command func() *exec.Cmd, c Child) *exec.Cmd {
	s.t.Helper()
	cmd := command()
	cmd.Env = append(append(os.Environ(), cmd.Env...), c.Env())
	cmd.Stderr = os.Stderr
	s.check(cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Kill kills relays with SIGKILL at random moments, rounds times, while an application
// writes and the sink fails in the middle of some batches. It compares the delivered with
// the committed events. command starts the test binary again, for [Child.Relay].
func Kill(t *testing.T, o Outbox, rounds int, command func() *exec.Cmd) {
	t.Helper()
	s := &rig{Outbox: o, t: t}
	c := Child{File: t.TempDir() + "/delivered", ParkAfter: 1000, Flaky: true}
	know := newOracle()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var app sync.WaitGroup
	for range 2 {
		app.Go(func() {
			for ctx.Err() == nil {
				know.transaction(t, s, 5)
				time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond) // a writing rate, not a wait
			}
		})
	}
	for range rounds {
		before, _ := lines(t, c.File)
		child := s.start(command, c)
		if rand.IntN(4) > 0 { // otherwise it may die before it has done anything
			s.eventually("the child delivers", func() bool { got, _ := lines(t, c.File); return len(got) > len(before) })
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // the moment of its death
		kill(child)
	}
	stop()
	app.Wait()
	s.start(command, c)
	s.eventually("all is delivered", func() bool { return len(s.waiting("")) == 0 })
	got, _ := lines(t, c.File)
	know.compare(t, got)
	t.Logf("%d relays killed, %d deliveries", rounds, len(got))
}

// Killer writes an event that kills each relay that sends it. The event must be parked with
// evidence after at most ParkAfter deaths, and all others must be delivered.
func Killer(t *testing.T, o Outbox, command func() *exec.Cmd) {
	t.Helper()
	s := &rig{Outbox: o, t: t}
	c := Child{File: t.TempDir() + "/delivered", ParkAfter: 3}
	for i := range 10 {
		s.write(event(fmt.Sprint("before", i), fmt.Sprint("k", i%3)))
	}
	s.write(event("kills", "k"), event("behind", "k"))
	for i := range 10 {
		s.write(event(fmt.Sprint("after", i), fmt.Sprint("k", i%3)))
	}
	for {
		child := s.start(command, c)
		ended := make(chan struct{})
		go func() {
			_ = child.Wait()
			close(ended)
		}()
		over := false
		s.eventually("the relay dies, or parks the event and delivers the others", func() bool {
			select {
			case <-ended:
				return true
			default:
				over = len(s.waiting(outbox.Parked)) == 1 && len(s.waiting("")) == 2
				return over
			}
		})
		if over {
			break
		}
	}
	_, deaths := lines(t, c.File)
	suite.FatalIf(t, deaths > c.ParkAfter, "%d relays died of it, %d may", deaths, c.ParkAfter)
	w := s.waiting(outbox.Parked)[0]
	s.equal("parked", []any{w.ID, w.Blamed, w.Behind, w.Evidence.Class}, []any{"kills", 3, 1, "lost"})
	got, _ := lines(t, c.File)
	first := make(map[string]bool)
	for _, r := range got {
		first[r.ID] = true
	}
	s.equal("others", len(first), 20)
}

// Stopped stops a relay with SIGSTOP between its sink's answer and the settlement, for
// longer than its lease, and continues it after another relay has done the work. The
// stopped relay must change nothing.
func Stopped(t *testing.T, o Outbox, command func() *exec.Cmd) {
	t.Helper()
	stop, resume := stopping()
	if stop == nil {
		t.Skip("this system cannot stop a process")
	}
	s := &rig{Outbox: o, t: t}
	c := Child{File: t.TempDir() + "/delivered", Gate: t.TempDir() + "/gate", ParkAfter: 5, Lease: time.Second}
	s.check(os.WriteFile(c.Gate, nil, 0o600))
	s.write(event("1", "k"), event("2", "k"), event("other", "o"))
	child := s.start(command, c)
	s.eventually("it has sent", func() bool { got, _ := lines(t, c.File); return len(got) == 3 })
	s.check(child.Process.Signal(stop))

	var p place
	p.set(func(batch []outbox.Record, i int) error {
		if batch[i].ID == "1" {
			return &outbox.Failure{Class: 4, Reason: "refused by the next relay"} // bezoar.Invalid
		}
		return nil
	})
	next, _ := s.relay(outbox.Config{Sinks: to(&p), Owner: "next", ParkAfter: 2})
	s.eventually("the next relay parks one and delivers the other", func() bool {
		return len(s.waiting(outbox.Parked)) == 1 && p.count() == 1 && len(s.waiting("")) == 2
	})
	before, err := s.Store.Status(s.ctx())
	s.check(err)
	s.check(os.Remove(c.Gate))
	s.check(child.Process.Signal(resume))
	s.eventually("the stopped relay is back, and waits for the lease", func() bool {
		s.write(event("", "more"))
		return p.count() > 20
	})
	w := s.waiting(outbox.Parked)
	s.equal("still parked", []any{len(w), w[0].ID, w[0].Behind}, []any{1, "1", 1})
	after, err := s.Store.Status(s.ctx())
	s.check(err)
	s.equal("epoch", []any{after.Lease.Epoch, after.Lease.Owner}, []any{before.Lease.Epoch, "next"})
	s.equal("lost flights", next.Stats().Lost, 1)
	got, _ := lines(t, c.File)
	s.equal("deliveries of the stopped relay", len(got), 3)
}
