package taskrun

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

func TestFunctions(t *testing.T) {
	r := runner(t, func(c *Config) {
		c.Functions = flow.Functions{
			"add":  func(_ context.Context, in flow.Input) ([]byte, error) { return []byte(in.Item + "!"), nil },
			"fail": func(context.Context, flow.Input) ([]byte, error) { return nil, errors.New("no such order") },
			"down": func(context.Context, flow.Input) ([]byte, error) {
				return nil, flow.Fail(bezoar.Outage, errors.New("no answer"))
			},
			"panic": func(context.Context, flow.Input) ([]byte, error) { panic("broken") },
			"long":  func(context.Context, flow.Input) ([]byte, error) { return make([]byte, flow.MaxOutput+1), nil },
			"waits": func(ctx context.Context, _ flow.Input) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		}
	})
	for i, tc := range []struct {
		name   string
		class  bezoar.Class
		reason string
		log    string
	}{
		{"add", bezoar.Done, "", ""},
		{"fail", bezoar.Bug, "no such order", "no such order"},
		{"down", bezoar.Outage, "no answer", "no answer"},
		{"panic", bezoar.Crash, "broken", "function_test.go"},
		{"long", bezoar.Invalid, "its output has 65537 bytes", ""},
		{"waits", bezoar.Timeout, "stopped after 20ms", "deadline"},
		{"none", bezoar.SpawnFailed, `no function "none"`, ""},
	} {
		s := flow.Spec{Token: int64(i + 1), Func: tc.name, Timeout: 20 * time.Millisecond, Input: flow.Input{Item: "x"}}
		e := run(t, r, s)
		if e.Class != tc.class || !strings.Contains(e.Reason, tc.reason) || tc.class == bezoar.Done && string(e.Output) != "x!" {
			t.Errorf("%s: %+v", tc.name, e)
		}
		if e.Class != bezoar.Done && e.Class != bezoar.Timeout && e.Fingerprint == "" {
			t.Errorf("%s: no fingerprint", tc.name)
		}
		if log := logOf(t, r, s.Token); !strings.Contains(log, tc.log) {
			t.Errorf("%s: log %q", tc.name, log)
		}
	}
	s := flow.Spec{Token: 100, Func: "waits"}
	if err := r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(t.Context(), 100, bezoar.Timeout, "the deadline is over"); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, r, 100); e.Class != bezoar.Timeout || e.Reason != "the deadline is over" {
		t.Errorf("one that was stopped: %+v", e)
	}
}
