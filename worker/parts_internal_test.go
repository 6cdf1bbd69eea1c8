package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/queue"
)

// Who comes alone does not wait; who comes with others shares a call.
func TestDeletesAreGrouped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var calls []int
		b := &batcher{send: func(_ context.Context, items []string) []error {
			mu.Lock()
			calls = append(calls, len(items))
			mu.Unlock()
			time.Sleep(time.Millisecond)
			out := make([]error, len(items))
			for i, item := range items {
				if item == "bad" {
					out[i] = errors.New("bad")
				}
			}
			return out
		}}
		began := time.Now()
		if err := b.do(t.Context(), "one"); err != nil || time.Since(began) > time.Millisecond {
			t.Errorf("alone: %v after %v", err, time.Since(began))
		}
		var wg sync.WaitGroup
		for i := range 25 {
			wg.Go(func() {
				item := fmt.Sprint(i)
				if i == 7 {
					item = "bad"
				}
				if err := b.do(t.Context(), item); (err != nil) != (i == 7) {
					t.Errorf("%s: %v", item, err)
				}
			})
		}
		wg.Wait()
		slices.Sort(calls)
		total := 0
		for _, n := range calls {
			total += n
			if n > batchMost {
				t.Errorf("%d in one call", n)
			}
		}
		if total != 26 || len(calls) > 8 {
			t.Errorf("calls of %v", calls)
		}
	})
}

func TestOutcomesTravelInASCII(t *testing.T) {
	o := queue.Outcome{Class: bezoar.Bug, Reason: "größer\n\"quoted\" 😀 \x7f", Stderr: strings.Repeat("é", queue.MaxStderr), Detail: "exit status 1"}
	text, err := outcomeText(&o, &wireOutcome{RetryAfter: 1.5, Downstream: "dün", Weak: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' && r != 0x7f }) {
		t.Errorf("%s is not fit for a header", text)
	}
	var back wireOutcome
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if back.Reason != o.Reason || back.Class != bezoar.Bug || back.RetryAfter != 1.5 || back.Downstream != "dün" || !back.Weak || len(back.Stderr) > queue.MaxStderr {
		t.Errorf("it came back as %+v", back)
	}
}

func TestWhatAnErrorOfSQSMeans(t *testing.T) {
	for code, lost := range map[string]bool{"ReceiptHandleIsInvalid": true, "InvalidParameterValue": true, "MessageNotInflight": true, "ThrottlingException": false} {
		err := lostSQS(&smithy.GenericAPIError{Code: code, Message: "x"})
		if errors.Is(err, ErrLost) != lost {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := lostSQS(&smithy.GenericAPIError{Code: "InvalidParameterValue", Message: "Total VisibilityTimeout is beyond the limit"}); errors.Is(err, ErrLost) {
		t.Error("a lease that cannot be longer is not lost")
	}
}

// What does not fit into the environment is named, and not cut.
func TestEnvironmentIsBounded(t *testing.T) {
	m := &Message{ID: "id", Queue: "q", Receives: 2, Attributes: map[string]Attribute{
		"a.b": {DataType: "String", String: "1"}, "a-b": {DataType: "String", String: "2"}, "zero": {DataType: "String", String: "\x00"},
		"long": {DataType: "String", String: strings.Repeat("x", maxAttribute+1)},
		"m1":   {DataType: "String", String: strings.Repeat("x", maxAttribute)}, "m2": {DataType: "String", String: strings.Repeat("x", maxAttribute)},
		"m3": {DataType: "String", String: strings.Repeat("x", maxAttribute)}, "ünï": {DataType: "String", String: "3"},
	}}
	env, size := environ(m), 0
	for _, e := range env {
		size += len(e)
		if strings.Contains(e, "\x00") {
			t.Errorf("%q holds a NUL", e)
		}
	}
	if size > 128<<10 {
		t.Errorf("%d bytes", size)
	}
	for _, want := range []string{"BEZOAR_ATTRIBUTE_A_B=2", "BEZOAR_ATTRIBUTES_OMITTED=A_B LONG M3 ZERO", "BEZOAR_RECEIVE_COUNT=2", "BEZOAR_ATTRIBUTE__N_=3"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// How a child ended, what it said, and what it wrote, together.
func TestWhatEndsMean(t *testing.T) {
	refused := []byte("Traceback (most recent call last):\n  File \"/app/pay.py\", line 3, in pay\n    s.connect(a)\nConnectionRefusedError: [Errno 111] Connection refused\n")
	for name, tc := range map[string]struct {
		end   child.Result
		class bezoar.Class
		votes int
	}{
		"done":                    {child.Result{Class: bezoar.Done, Detail: "exit code 0"}, bezoar.Done, 0},
		"a bug with a trace":      {child.Result{Class: bezoar.Bug, ExitCode: 1, Stderr: []byte("Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n    g()\nKeyError: 'x'\n")}, bezoar.Bug, crash.Votes(crash.Own)},
		"an exit code":            {child.Result{Class: bezoar.Bug, ExitCode: 3}, bezoar.Bug, 0},
		"a downstream":            {child.Result{Class: bezoar.Bug, ExitCode: 1, Stderr: refused}, bezoar.Outage, crash.Votes(crash.Own)},
		"a bug that it calls one": {child.Result{Class: bezoar.Bug, ExitCode: 1, Stderr: refused, Report: &child.Report{Class: "bug"}}, bezoar.Bug, crash.Votes(crash.Own)},
		"a crash":                 {child.Result{Class: bezoar.Crash, ExitCode: -1, Signal: "SIGSEGV", Stderr: refused}, bezoar.Crash, crash.Votes(crash.Own)},
		"a timeout":               {child.Result{Class: bezoar.Timeout, ExitCode: -1, Signal: "SIGKILL", Stderr: refused}, bezoar.Timeout, 0},
		"a name of its own":       {child.Result{Class: bezoar.Bug, ExitCode: 1, Stderr: refused, Report: &child.Report{Failure: "no stock"}}, bezoar.Bug, crash.Votes(crash.Own)},
		"an interruption":         {child.Result{Class: bezoar.Interrupted, ExitCode: -1}, bezoar.Interrupted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := ofChild(&tc.end, "handler")
			if r.class != tc.class || r.votes != tc.votes {
				t.Errorf("it is %s with %d votes, want %s and %d: %+v", r.class, r.votes, tc.class, tc.votes, r)
			}
			if failed := r.class != bezoar.Done && r.class != bezoar.Interrupted; failed && (r.failure == "" || r.reason == "") {
				t.Errorf("failure %q, reason %q", r.failure, r.reason)
			}
		})
	}
	same := ofChild(&child.Result{Class: bezoar.Bug, ExitCode: 1, Report: &child.Report{Failure: "no stock", Reason: "of 7"}}, "handler")
	if other := ofError(&Error{Class: bezoar.Bug, Failure: "no stock", Err: errors.New("of 8")}); same.failure != other.failure || same.reason != "of 7" {
		t.Errorf("the same failure is %q and %q", same.failure, other.failure)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	err := (Config{Concurrency: -1, Timeout: 13 * time.Hour, Visibility: time.Second, Heartbeat: time.Minute}).Validate()
	for _, field := range []string{"Source: ", "Handler, Command: ", "Concurrency is ", "Timeout is ", "Visibility is ", "Heartbeat is "} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not in %v", field, err)
		}
	}
	err = (Config{Command: Command{Args: []string{"x"}, Mode: "odd", Memory: 1}}).Validate()
	if err == nil || !strings.Contains(err.Error(), "odd") || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a command at fault: %v", err)
	}
}

// What a handler says of its end is shown without the attributes that have names of
// secrets, and without what looks like a secret.
func TestAResultHasNoSecrets(t *testing.T) {
	m := &Message{Attributes: map[string]queue.Attribute{"Api-Token": {String: "open-sesame"}, "Color": {String: "colorful"}}}
	r := result{
		class: bezoar.Bug, reason: "bad open-sesame", detail: "exit code 1", stderr: "KeyError: 'colorful'\nGET /x?password=hush open-sesame\n",
		rows: []Row{{Reason: "row of open-sesame"}},
	}
	r.hide(m)
	if got, want := fmt.Sprint(r.reason, "|", r.detail, "|", r.stderr, "|", r.rows[0].Reason),
		"bad [redacted]|exit code 1|KeyError: 'colorful'\nGET /x?password=[redacted] [redacted]\n|row of [redacted]"; got != want {
		t.Errorf("told is %q, want %q", got, want)
	}
}

// On a queue that is never empty a message that others go before runs before long,
// and that it was put off is not held against it.
func TestNoMessageIsPutOffForEver(t *testing.T) {
	w := &Worker{judge: new(judge.Local), fresh: true, start: time.Now()}
	m := &Message{ID: "m", Receives: hopeless - 2}
	for range 20 {
		if w.hopeless(m) {
			t.Fatalf("after %d receives it is set aside without a run", m.Receives)
		}
		if !w.putsOff(m) {
			break
		}
		m.Receives++
	}
	if got := w.off.times("m"); got != mostOff {
		t.Errorf("it was put off %d times, want %d", got, mostOff)
	}
	if !w.hopeless(&Message{ID: "another", Receives: hopeless}) {
		t.Error("one that was never put off is not set aside")
	}
}
