package fingerprint

import (
	"fmt"
	"testing"

	"github.com/bezoar-dev/bezoar"
)

func lookups(tb testing.TB) (p *Printer, s *scratch) {
	tb.Helper()
	p, err := New(Key{1, 2, 3}, Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return p, new(scratch)
}

func bodyNo(n int) *Input {
	return &Input{Method: "POST", Path: "/orders", ContentType: "application/json", Body: fmt.Appendf(nil, `{"b":%d,"a":"%0300d"}`, n, n), Complete: true}
}

func TestABodyThatComesAgainIsRemembered(t *testing.T) {
	p, s := lookups(t)
	first := p.repeats.work(p, s, bodyNo(1))
	set := func() (n int) {
		for i := range p.repeats.table.Load() {
			for _, id := range p.repeats.table.Load()[i].ids {
				if !id.work.IsZero() {
					n++
				}
			}
		}
		return n
	}
	if again := p.repeats.work(p, s, bodyNo(1)); again != first || s.gain.hits != 1 || set() != 1 {
		t.Errorf("%v after %v, %d hits, %d remembered", again, first, s.gain.hits, set())
	}
	// An entry that says something else shows that it is what is returned.
	other := identity{work: bezoar.Fingerprint{9}, shape: bezoar.Fingerprint{8}}
	tag := p.repeats.tag(p, s, bodyNo(1))
	p.repeats.table.Load()[int(tag[0])|int(tag[1])<<8&(repeatSets-1)].ids[0] = other
	if got := p.repeats.work(p, s, bodyNo(1)); got != other {
		t.Errorf("%v, want the remembered %v", got, other)
	}
}

func TestUniqueBodiesAreSampledOnly(t *testing.T) {
	p, s := lookups(t)
	n := 0
	for ; !s.gain.sampling; n++ {
		if p.repeats.work(p, s, bodyNo(n)); n > gainAll {
			t.Fatal("it goes on looking up bodies that never repeat")
		}
	}
	looked := 0
	for range 100 * gainSample {
		before := s.gain.tries
		p.repeats.work(p, s, bodyNo(n))
		n++
		if s.gain.tries != before {
			looked++
		}
	}
	if looked < 50 || looked > 200 {
		t.Errorf("looked up %d of %d, want about 100", looked, 100*gainSample)
	}
	for i := range 3 * gainAll { // half a table comes again and again
		p.repeats.work(p, s, bodyNo(n+i%(repeatSets*repeatWays/2)))
	}
	if s.gain.sampling || s.gain.hits < s.gain.tries/2 {
		t.Errorf("%+v: it does not notice that bodies repeat", s.gain)
	}
}
