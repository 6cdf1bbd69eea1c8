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
		for i := range p.repeats.tables[bodied].Load() {
			for _, id := range p.repeats.tables[bodied].Load()[i].ids {
				if !id.work.IsZero() {
					n++
				}
			}
		}
		return n
	}
	if again := p.repeats.work(p, s, bodyNo(1)); again != first || s.gains[bodied].hits != 1 || set() != 1 {
		t.Errorf("%v after %v, %d hits, %d remembered", again, first, s.gains[bodied].hits, set())
	}
	// An entry that says something else shows that it is what is returned.
	other := identity{work: bezoar.Fingerprint{9}, shape: bezoar.Fingerprint{8}}
	tag := p.repeats.tag(p, s, bodyNo(1))
	p.repeats.tables[bodied].Load().set(&tag).ids[0] = other
	if got := p.repeats.work(p, s, bodyNo(1)); got != other {
		t.Errorf("%v, want the remembered %v", got, other)
	}
}

func TestUniqueBodiesAreSampledOnly(t *testing.T) {
	p, s := lookups(t)
	n := 0
	for ; !s.gains[bodied].sampling; n++ {
		if p.repeats.work(p, s, bodyNo(n)); n > gainAll {
			t.Fatal("it goes on looking up bodies that never repeat")
		}
	}
	looked := 0
	for range 100 * gainSample {
		before := s.gains[bodied].tries
		p.repeats.work(p, s, bodyNo(n))
		n++
		if s.gains[bodied].tries != before {
			looked++
		}
	}
	if looked < 50 || looked > 200 {
		t.Errorf("looked up %d of %d, want about 100", looked, 100*gainSample)
	}
	const half = repeatSets * repeatWays / 2 // of a table comes again and again
	for i := 0; s.gains[bodied].sampling; i++ {
		if p.repeats.work(p, s, bodyNo(n+i%half)); i > 10*gainAll {
			t.Fatalf("%+v: it does not notice that bodies repeat", s.gains[bodied])
		}
	}
	pass := func() (hits int) {
		before := s.gains[bodied].hits
		for i := range half {
			p.repeats.work(p, s, bodyNo(n+i))
		}
		return s.gains[bodied].hits - before
	}
	if pass(); pass() < half*3/4 {
		t.Errorf("%+v: fewer than three of four of %d bodies were remembered", s.gains[bodied], half)
	}
}

// Requests with a body and without one have tables of their own.
func TestARequestWithoutABodyIsRemembered(t *testing.T) {
	p, s := lookups(t)
	get := func(n int) *Input {
		return &Input{Method: "GET", Path: "/items", RawQuery: fmt.Sprintf("b=%d&a=x", n), Complete: true}
	}
	first := p.repeats.work(p, s, get(1))
	if again := p.repeats.work(p, s, get(1)); again != first || s.gains[bodiless].hits != 1 || s.gains[bodied].tries != 0 {
		t.Errorf("%v after %v, gains %+v", again, first, s.gains)
	}
	other := identity{work: bezoar.Fingerprint{9}, shape: bezoar.Fingerprint{8}}
	tag := p.repeats.tag(p, s, get(1))
	p.repeats.tables[bodiless].Load().set(&tag).ids[0] = other
	if got := p.repeats.work(p, s, get(1)); got != other {
		t.Errorf("%v, want the remembered %v", got, other)
	}
	for n := 2; !s.gains[bodiless].sampling; n++ {
		if p.repeats.work(p, s, get(n)); n > 2*gainAll {
			t.Fatal("it goes on looking up requests that never repeat")
		}
	}
	if s.gains[bodied].sampling {
		t.Error("requests without a body decide about those with one")
	}
}
