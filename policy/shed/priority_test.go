package shed_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

func TestPrioritiesHaveOneOrderAndOneName(t *testing.T) {
	if p := shed.Priority(0); p != shed.Critical {
		t.Errorf("work that says nothing is %v", p)
	}
	for tier, p := range shed.Priorities() {
		if p.Tier() != tier {
			t.Errorf("%v is in tier %d, want %d", p, p.Tier(), tier)
		}
		for _, name := range []string{p.String(), strings.ToUpper(p.String()), strings.ReplaceAll(p.String(), "-", "_"), strings.ReplaceAll(p.String(), "-plus", "+")} {
			if got, err := shed.ParsePriority(name); got != p || err != nil {
				t.Errorf("%q is %v, %v; want %v", name, got, err, p)
			}
		}
		text, _ := p.MarshalText()
		var back shed.Priority
		if err := back.UnmarshalText(text); err != nil || back != p {
			t.Errorf("%s came back as %v, %v", text, back, err)
		}
	}
	if shed.Priority(9).Tier() != 0 || shed.Priority(-9).Tier() != shed.Tiers-1 {
		t.Error("what is beyond the priorities is not the nearest")
	}
	if s := shed.Priority(9).String(); s != "priority(9)" {
		t.Errorf("an unknown priority is called %q", s)
	}
}

func TestUnknownPrioritiesAreErrors(t *testing.T) {
	for _, name := range []string{"", "+", "plus", "-plus", "critical++", "critical-plus+", "criticalplus", "critical plus", "high", " critical"} {
		if p, err := shed.ParsePriority(name); err == nil {
			t.Errorf("%q is %v", name, p)
		}
	}
	p := shed.Sheddable
	if err := p.UnmarshalText([]byte("high")); err == nil || p != shed.Sheddable {
		t.Errorf("an error left %v, %v", p, err)
	}
	if _, err := shed.ParsePriority(strings.Repeat("x", 1<<20)); len(err.Error()) > 200 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	names := []string{"CRITICAL_PLUS", "critical", "sheddable+", "Sheddable"}
	if n := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			if _, err := shed.ParsePriority(name); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParsePriority(f *testing.F) {
	for _, s := range []string{"critical-plus", "CRITICAL", "sheddable_plus", "Sheddable+", "", "+", "plus"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := shed.ParsePriority(s)
		if err != nil {
			return
		}
		if again, err := shed.ParsePriority(p.String()); again != p || err != nil {
			t.Errorf("%q is %v, whose name is %v, %v", s, p, again, err)
		}
	})
}
