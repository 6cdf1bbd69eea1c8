package backoff_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

func TestCeilingDoublesToTheCap(t *testing.T) {
	c := backoff.Config{Base: 25 * time.Millisecond, Cap: 250 * time.Millisecond}
	for attempt, want := range []time.Duration{25, 50, 100, 200, 250, 250} {
		if got := c.Ceiling(attempt); got != want*time.Millisecond {
			t.Errorf("Ceiling(%d) = %v, want %v", attempt, got, want*time.Millisecond)
		}
	}
	if got := (backoff.Config{}).Ceiling(0); got != time.Second {
		t.Errorf("the first ceiling by default is %v, want 1s", got)
	}
	if got := (backoff.Config{}).Ceiling(1 << 30); got != 5*time.Minute {
		t.Errorf("the last ceiling by default is %v, want 5m", got)
	}
}

func TestWaitStaysBelowItsCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := backoff.Config{
			Base: time.Duration(rapid.Int64Range(1, math.MaxInt64/4).Draw(t, "base")),
		}
		c.Cap = time.Duration(rapid.Int64Range(int64(c.Base), math.MaxInt64/2).Draw(t, "cap"))
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, 100).Draw(t, "attempt")
		ceiling, next := c.Ceiling(n), c.Ceiling(n+1)
		if ceiling < c.Base || ceiling > c.Cap || next < ceiling {
			t.Fatalf("ceilings %v and %v of %+v", ceiling, next, c)
		}
		random := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "random")
		if wait := c.Wait(n, random); wait < 0 || wait > ceiling {
			t.Fatalf("a wait of %v, want 0 to %v", wait, ceiling)
		}
	})
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		cfg  backoff.Config
		want string
	}{
		{backoff.Config{}, "<nil>"},
		{backoff.Config{Base: time.Hour}, "<nil>"}, // the cap follows
		{backoff.Config{Base: -1, Cap: time.Second}, "base is -1ns, want more than 0"},
		{backoff.Config{Base: time.Minute, Cap: time.Second}, "cap is 1s, want at least base (1m0s)"},
		{backoff.Config{Base: -1, Cap: -2}, "base is -1ns, want more than 0\ncap is -2ns, want at least base (-1ns)"},
	} {
		if got := fmt.Sprint(tc.cfg.Validate()); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.cfg, got, tc.want)
		}
	}
}

func ExampleConfig() {
	c := backoff.Config{Base: 25 * time.Millisecond, Cap: 250 * time.Millisecond}
	for attempt := range 5 {
		fmt.Println(c.Wait(attempt, 0.5), "of at most", c.Ceiling(attempt))
	}
	// Output:
	// 12.5ms of at most 25ms
	// 25ms of at most 50ms
	// 50ms of at most 100ms
	// 100ms of at most 200ms
	// 125ms of at most 250ms
}
