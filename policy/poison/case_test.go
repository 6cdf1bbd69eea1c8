package poison

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
)

const minute = int64(time.Minute / time.Microsecond)

func alone(c bezoar.Class) End { return End{Class: c, Reason: "x"} }

// fail judges ends one after another, a minute apart.
func fail(t *testing.T, cfg Config, ends ...End) (c *Case, dead bool) {
	t.Helper()
	for i, e := range ends {
		if dead {
			t.Fatalf("dead after %d of %d ends", i, len(ends))
		}
		c, dead = cfg.Fail(c, e, int64(i)*minute)
	}
	return c, dead
}

func TestWhatConvicts(t *testing.T) {
	lone := End{Class: bezoar.Crash, Holding: 1, Lone: true}
	same := func(c bezoar.Class) End { return End{Class: c, Failure: "f1"} }
	for name, tt := range map[string]struct {
		ends  []End
		dead  bool
		state State
	}{
		"one crash":                          {[]End{alone(bezoar.Crash)}, false, Suspect},
		"stopped in a fleet of one, twice":   {[]End{lone, lone}, false, Suspect},
		"and once more":                      {[]End{lone, lone, lone}, true, Quarantined},
		"two crashes":                        {[]End{alone(bezoar.Crash), alone(bezoar.Crash)}, true, Quarantined},
		"crash and oom":                      {[]End{alone(bezoar.Crash), alone(bezoar.OOM)}, true, Quarantined},
		"in company, then alone":             {[]End{{Class: bezoar.Crash, Holding: 10}, alone(bezoar.Crash)}, true, Quarantined},
		"a suspect whose worker held others": {[]End{{Class: bezoar.Crash, Holding: 10}, {Class: bezoar.Crash, Holding: 3}}, true, Quarantined},
		"copies in one worker die one death": {[]End{{Class: bezoar.Crash, Holding: 3}, {Class: bezoar.Crash, Holding: 3, Received: -1}, {Class: bezoar.Crash, Holding: 3, Received: -1}}, false, Suspect},
		"and one more alone":                 {[]End{{Class: bezoar.Crash, Holding: 3}, {Class: bezoar.Crash, Holding: 3, Received: -1}, alone(bezoar.Crash)}, true, Quarantined},
		"three timeouts":                     {[]End{alone(bezoar.Timeout), alone(bezoar.Timeout), alone(bezoar.Timeout)}, false, Suspect},
		"four timeouts":                      {[]End{alone(bezoar.Timeout), alone(bezoar.Timeout), alone(bezoar.Timeout), alone(bezoar.Timeout)}, true, Quarantined},
		"the same timeout keeps its budget":  {[]End{same(bezoar.Timeout), same(bezoar.Timeout), same(bezoar.Timeout)}, false, Suspect},
		"the same bug twice":                 {[]End{same(bezoar.Bug), same(bezoar.Bug)}, false, Watched},
		"the same bug three times":           {[]End{same(bezoar.Bug), same(bezoar.Bug), same(bezoar.Bug)}, true, Watched},
		"other bugs":                         {[]End{same(bezoar.Bug), {Class: bezoar.Bug, Failure: "f2"}, same(bezoar.Bug), same(bezoar.Bug)}, false, Watched},
		"bugs that nothing is known of":      {[]End{alone(bezoar.Bug), alone(bezoar.Bug), alone(bezoar.Bug), alone(bezoar.Bug)}, false, Watched},
		"invalid twice alike":                {[]End{same(bezoar.Invalid), same(bezoar.Invalid)}, true, Watched},
		"a bug between does not absolve":     {[]End{alone(bezoar.Crash), same(bezoar.Bug), alone(bezoar.Crash)}, true, Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			c, dead := fail(t, Config{}, tt.ends...)
			if dead != tt.dead || c == nil || c.State != tt.state {
				t.Errorf("got %+v, dead %v; want %v, dead %v", c, dead, tt.state, tt.dead)
			}
		})
	}
}

func TestWhatBlamesNobody(t *testing.T) {
	for _, class := range []bezoar.Class{bezoar.Done, bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Interrupted, bezoar.SpawnFailed} {
		if c, dead := fail(t, Config{}, alone(class)); c != nil || dead {
			t.Errorf("%v opened %+v", class, c)
		}
	}
	if c, dead := fail(t, Config{Off: true}, alone(bezoar.Crash)); c != nil || dead {
		t.Errorf("switched off, a crash opened %+v", c)
	}
}

func TestAdmission(t *testing.T) {
	suspect := &Case{State: Suspect}
	convict := &Case{State: Quarantined, Until: 10}
	for name, tt := range map[string]struct {
		c             *Case
		copied, first bool
		now           int64
		want          Admission
	}{
		"unknown":                   {nil, false, false, 0, Deliver},
		"a copy of the unknown":     {nil, true, true, 0, Wait},
		"a copy of the proven":      {&Case{Proven: true}, true, false, 0, Deliver},
		"a copy of the watched":     {&Case{}, true, true, 0, Wait},
		"a suspect first":           {suspect, false, true, 0, Alone},
		"a suspect after others":    {suspect, false, false, 0, Wait},
		"a copy of a suspect":       {suspect, true, true, 0, Wait},
		"the quarantined":           {convict, false, true, 9, Refuse},
		"a copy of the quarantined": {convict, true, false, 9, Refuse},
		"a probe":                   {convict, false, true, 10, Alone},
		"a second probe":            {convict, true, true, 10, Wait},
	} {
		if got := (Config{}).Admit(tt.c, tt.copied, tt.first, tt.now); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestQuarantineGrowsAndEnds(t *testing.T) {
	cfg := Config{For: time.Minute, Max: 3 * time.Minute}
	c, _ := fail(t, cfg, alone(bezoar.Crash), alone(bezoar.Crash))
	for i, want := range []int64{1, 2, 3, 3} {
		if got := c.Until - c.Since; got != want*minute {
			t.Fatalf("conviction %d lasts %v, want %d min", i+1, time.Duration(got)*time.Microsecond, want)
		}
		c, _ = cfg.Fail(c, alone(bezoar.Crash), c.Until)
	}
	c = cfg.Work(c, c.Until)
	if c.State != Watched || !c.Proven || c.Strikes != 0 || c.Level != 0 {
		t.Errorf("after a clean probe: %+v", c)
	}
}

func TestAccused(t *testing.T) {
	cfg := Config{}
	c := cfg.Accuse(nil, bezoar.Crash, "convicted as a request", 5)
	if c.State != Suspect || cfg.Admit(c, false, false, 5) != Wait {
		t.Errorf("got %+v", c)
	}
	convict := &Case{State: Quarantined, Until: 10}
	if got := cfg.Accuse(convict, bezoar.Crash, "again", 5); got != convict {
		t.Error("an accusation changed a conviction")
	}
}

// Law 3 and 4: whatever happens, alone no payload costs more than After deaths
// before it is refused, and none is convicted that did not die alone as a
// suspect, or After times.
func TestLaws3And4(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{After: rapid.IntRange(1, MaxAfter).Draw(t, "after")}
		var c *Case
		deaths, now := 0, int64(0)
		for range 40 {
			now += minute
			admission := cfg.Admit(c, false, true, now)
			if admission == Refuse {
				if deaths < min(cfg.After, 1) {
					t.Fatalf("refused after %d deaths", deaths)
				}
				return
			}
			if rapid.IntRange(0, 9).Draw(t, "works") == 0 {
				c, deaths = cfg.Work(c, now), 0
				continue
			}
			e := End{Class: bezoar.Crash, Reason: "x"}
			if c == nil || c.State == Watched {
				e.Holding = rapid.IntRange(0, 10).Draw(t, "holding")
			}
			deaths++
			var dead bool
			c, dead = cfg.Fail(c, e, now)
			most := max(cfg.After, 2) // the first in company never convicts
			if deaths > most || deaths == most && !dead {
				t.Fatalf("%d deaths with After %d, dead %v: %+v", deaths, cfg.After, dead, c)
			}
			if dead && e.Holding > 1 {
				t.Fatalf("convicted by a death in company: %+v", c)
			}
		}
	})
}

func TestForgotten(t *testing.T) {
	cfg := Config{Forget: time.Hour}
	c := &Case{Touched: 0}
	if cfg.Forgotten(c, 59*minute) || !cfg.Forgotten(c, 60*minute) {
		t.Error("a case is not forgotten on time")
	}
	c = &Case{State: Quarantined, Until: 100 * minute}
	if cfg.Forgotten(c, 120*minute) {
		t.Error("a convict was forgotten within an hour of its release")
	}
}

func TestConfig(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []Config{{After: 9}, {After: -1}, {For: time.Millisecond}, {For: time.Hour, Max: time.Minute}, {Forget: time.Nanosecond}} {
		if c.Validate() == nil {
			t.Errorf("%+v passed", c)
		}
	}
}

// A death of which nobody knows what it was is half a strike: four of them
// convict, not two.
func TestWeakDeathsProveHalf(t *testing.T) {
	var c *Case
	dead := false
	for n := range 4 {
		if dead {
			t.Fatalf("dead after %d", n)
		}
		c, dead = Config{}.Fail(c, End{Class: bezoar.Crash, Weak: true}, int64(n))
		if n < 3 && c.State != Suspect {
			t.Errorf("after %d it is %v", n+1, c.State)
		}
	}
	if !dead || c.State != Quarantined {
		t.Errorf("after four it is %+v, dead %v", c, dead)
	}
}
