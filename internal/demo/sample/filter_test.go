package sample

import (
	"strings"
	"testing"
)

func TestFilterMatches(t *testing.T) {
	for _, tt := range []struct {
		filter, name string
		want         bool
	}{
		{"", "", true},
		{"", "lamp", false},
		{"lamp", "lamp", true},
		{"lamp", "lamps", false},
		{"lamp", "lam", false},
		{"*lamp*", "blue lamp 0042", true},
		{"lamp*", "blue lamp", false},
		{"blue*lamp", "blue desk lamp", true},
		{"**", "mug", true},
		{"*a*b", "aab", true},
		{"*a*b", "aaa", false},
	} {
		p, err := compile(tt.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matches(tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.filter, tt.name, got, tt.want)
		}
	}
}

// Each star of the hanging pill multiplies its work, until it takes minutes over
// one name of the catalogue.
func TestTheHangingPillHangs(t *testing.T) {
	tries := func(stars, letters int) int { // as match makes them, up to a star's end
		ways := []int{1}
		total := 0
		for range stars {
			next := make([]int, letters+1)
			for at, n := range ways {
				for to := at + 1; to <= letters; to++ {
					next[to] += n
				}
			}
			ways = next
			for _, n := range ways {
				total += n
			}
		}
		return total
	}
	if n := tries(18, strings.Count(screamer, "a")); n < 1<<33 {
		t.Errorf("%d tries hang nobody", n)
	}
	if (&pattern{"*a*a*a*b"}).matches(screamer) {
		t.Error("the screamer matches")
	}
}
