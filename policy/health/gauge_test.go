package health_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/health"
)

var start = time.Unix(1_000_000, 0)

func limits() health.Limits {
	return health.Limits{
		Degraded: health.Band{Upper: 0.8, Lower: 0.6}, Failing: health.Band{Upper: 0.9, Lower: 0.7},
		Times: 1,
	}
}

// at is one sample.
type at struct {
	second int
	value  float64
	want   health.State
}

func TestGauge(t *testing.T) {
	const ok, degraded, failing = health.OK, health.Degraded, health.Failing
	with := func(change func(*health.Limits)) health.Limits {
		l := limits()
		change(&l)
		return l
	}
	for _, tc := range []struct {
		name   string
		limits health.Limits
		steps  []at
	}{
		{
			"a state begins at the upper and ends below the lower threshold", limits(),
			[]at{
				{0, 0.79, ok},
				{1, 0.8, degraded},
				{2, 0.6, degraded},
				{3, 0.89, degraded},
				{4, 0.9, failing},
				{5, 0.7, failing},
				{6, 0.69, degraded},
				{7, 0.59, ok},
				{8, 0.79, ok},
			},
		},
		{"it jumps over a state", limits(), []at{{0, 1, failing}, {1, 0.65, degraded}, {2, 1, failing}, {3, 0, ok}}},
		{
			"times", with(func(l *health.Limits) { l.Times = 3 }),
			[]at{{0, 1, ok}, {1, 1, ok}, {2, 0.5, ok}, {3, 1, ok}, {4, 0.85, ok}, {5, 1, degraded}, {6, 1, degraded}, {7, 1, failing}},
		},
		{
			"for a time", with(func(l *health.Limits) { l.For = 5 * time.Second }),
			[]at{{0, 0.8, ok}, {4, 0.8, ok}, {5, 0.8, degraded}, {6, 1, degraded}, {10, 1, degraded}, {11, 1, failing}},
		},
		{
			"times and for a time", with(func(l *health.Limits) { l.Times, l.For = 3, 2*time.Second }),
			[]at{{0, 0.8, ok}, {5, 0.8, ok}, {6, 0.8, degraded}},
		},
		{
			"calm", with(func(l *health.Limits) { l.Calm = 10 * time.Second }),
			[]at{{0, 0.8, degraded}, {1, 0, degraded}, {9, 0, degraded}, {10, 0.6, degraded}, {11, 0, degraded}, {20, 0, degraded}, {21, 0, ok}},
		},
		{
			"what is no number changes nothing", with(func(l *health.Limits) { l.Times = 2 }),
			[]at{{0, 0.8, ok}, {1, math.NaN(), ok}, {2, 0.8, degraded}, {3, math.NaN(), degraded}},
		},
		{"infinite", limits(), []at{{0, math.Inf(1), failing}, {1, math.Inf(-1), ok}}},
		{
			"a clock that steps back waits anew", with(func(l *health.Limits) { l.For = 5 * time.Second }),
			[]at{{100, 0.8, ok}, {50, 0.8, ok}, {54, 0.8, ok}, {55, 0.8, degraded}},
		},
		{
			"a band that is off", with(func(l *health.Limits) { l.Failing = health.Band{Upper: health.Off, Lower: health.Off} }),
			[]at{{0, 1, degraded}, {1, 0, ok}},
		},
		{"nothing is on", health.Limits{}, []at{{0, 1, ok}, {1, math.Inf(1), ok}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.limits.Validate(); err != nil {
				t.Fatal(err)
			}
			g := health.Gauge{Limits: tc.limits}
			for _, s := range tc.steps {
				if got := g.Step(start.Add(time.Duration(s.second)*time.Second), s.value); got != s.want || g.State() != got {
					t.Fatalf("at %d s, %g: %v, want %v", s.second, s.value, got, s.want)
				}
			}
		})
	}
}

func TestSetKnowsNoPatience(t *testing.T) {
	l := limits()
	l.Times, l.For, l.Calm = 3, time.Hour, time.Hour
	g := health.Gauge{Limits: l}
	for _, tc := range []struct {
		value float64
		want  health.State
	}{{0.8, health.Degraded}, {0.9, health.Failing}, {0.75, health.OK}} {
		if got := g.Set(tc.value); got != tc.want {
			t.Errorf("%g: %v, want %v", tc.value, got, tc.want)
		}
	}
}

func TestABandThatIsTurnedOffLetsGo(t *testing.T) {
	g := health.Gauge{Limits: limits()}
	g.Step(start, 1)
	g.Limits = health.Limits{}
	if got := g.Step(start, 1); got != health.OK {
		t.Errorf("it is %v", got)
	}
}

func TestLimitsOr(t *testing.T) {
	got := health.Limits{Degraded: health.Band{Upper: 0.5}, For: time.Second}.Or(limits())
	want := health.Limits{Degraded: health.Band{Upper: 0.5, Lower: 0.5}, Failing: limits().Failing, Times: 1, For: time.Second}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	off := health.Limits{Degraded: health.Band{Upper: health.Off}, Failing: health.Band{Upper: health.Off}}.Or(limits())
	if off.On() || off.Validate() != nil {
		t.Errorf("%+v, %v", off, off.Validate())
	}
}

func TestLimitsValidate(t *testing.T) {
	for _, tc := range []struct {
		change func(*health.Limits)
		want   string
	}{
		{func(l *health.Limits) { l.Degraded.Upper = -2 }, "degraded upper is -2"},
		{func(l *health.Limits) { l.Failing.Upper = math.NaN() }, "failing upper is NaN"},
		{func(l *health.Limits) { l.Failing.Upper = math.Inf(1) }, "failing upper is +Inf"},
		{func(l *health.Limits) { l.Degraded.Lower = 0.81 }, "degraded lower is 0.81, want 0 to upper (0.8)"},
		{func(l *health.Limits) { l.Failing.Lower = math.NaN() }, "failing lower is NaN"},
		{func(l *health.Limits) { l.Failing = health.Band{Upper: 0.7, Lower: 0.7} }, "failing is 0.7 to 0.7, want no less"},
		{func(l *health.Limits) { l.Failing.Lower = 0.5 }, "failing is 0.5 to 0.9, want no less"},
		{func(l *health.Limits) { l.Times = -1 }, "times is -1"},
		{func(l *health.Limits) { l.For = -1 }, "for is -1ns"},
		{func(l *health.Limits) { l.Calm = 25 * time.Hour }, "calm is 25h0m0s"},
		{func(l *health.Limits) { l.Times, l.For = -1, -1 }, "times is -1, want 0 or more\nfor is"},
	} {
		l := limits()
		tc.change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", l, err, tc.want)
		}
	}
}

func TestStates(t *testing.T) {
	for _, s := range []health.State{health.OK, health.Degraded, health.Failing} {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		back := health.State(9)
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s became %v, %v", text, back, err)
		}
	}
	var s health.State
	if err := s.UnmarshalText([]byte("well")); err == nil {
		t.Error("an unknown word is a state")
	}
	if got := health.State(7).String(); got != "state(7)" {
		t.Errorf("%q", got)
	}
	for _, tc := range []struct {
		whole, part health.State
		optional    bool
		want        health.State
	}{
		{health.OK, health.Failing, false, health.Failing},
		{health.OK, health.Failing, true, health.Degraded},
		{health.OK, health.Degraded, true, health.Degraded},
		{health.Failing, health.OK, false, health.Failing},
		{health.Degraded, health.OK, true, health.Degraded},
	} {
		if got := tc.whole.With(tc.part, tc.optional); got != tc.want {
			t.Errorf("%v with %v (optional %v) is %v, want %v", tc.whole, tc.part, tc.optional, got, tc.want)
		}
	}
}
