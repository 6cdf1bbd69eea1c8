package redos

import (
	"strings"
	"testing"
)

// TestHidden pads loops with what takes the whole out of the budget's reach, or
// what the shortest way through the automaton does not get past.
func TestHidden(t *testing.T) {
	words := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("|" + strings.Repeat(string(rune('b'+i%20)), 1+i/20%7) + string(rune('b'+i%19)))
		}
		return b.String()[1:]
	}
	paddings := map[string][2]string{
		"nothing":        {`^`, `$`},
		"a long literal": {`^` + strings.Repeat("bcd", 5000), `$`},
		"a long end":     {`^`, strings.Repeat("bcd", 2000) + `$`},
		"optional words": {`^` + strings.Repeat("(?:bcd)?", 900), `!$`},
		"options after":  {`^`, strings.Repeat("(?:bcd)?", 900) + `!$`},
		"many words":     {`^(?:` + words(1000) + `)`, `$`},
		"an alternative": {`^(?:` + words(1000) + `|`, `)$`},
		"counted rounds": {`^(?:bcd){100,200}`, `$`},
		"a range":        {`^[b-d]{1000,2000}`, `$`},
		"lookaheads":     {`^` + strings.Repeat(`(?=.*b)(?!.*c)`, 100), `!$`},
		"groups":         {strings.Repeat("(", 150), strings.Repeat(")", 150) + `$`},
		"loops":          {`^` + strings.Repeat("b*c*d*", 100), `!$`},
	}
	for name, around := range paddings {
		for _, loop := range []string{`(?:a+)+`, `(\w+\s?)*`} {
			pattern := around[0] + loop + around[1]
			if r := Analyze(pattern, Options{}); r.Class != Exponential {
				t.Errorf("%s behind %s: %+v", loop, name, r)
			} else if none, few, many := steps(t, pattern, r, 0), steps(t, pattern, r, 5), steps(t, pattern, r, 14); many-none < 8*(few-none) {
				t.Errorf("%s behind %s: %g, %g and %g steps of %.100q", loop, name, none, few, many, r.Witness)
			}
		}
		for _, loop := range []string{`(?:a+x)+`} {
			if r := Analyze(around[0]+loop+around[1], Options{}); r.Class == Exponential {
				t.Errorf("%s behind %s: %+v", loop, name, r)
			}
		}
	}
	for _, times := range []int{16, 800} {
		for _, loop := range []string{`(a+)+`, `(\w+\s?)*;`} {
			if r := Analyze("^"+strings.Repeat(loop, times)+"$", Options{}); r.Class != Exponential {
				t.Errorf("%s %d times: %+v", loop, times, r)
			}
		}
	}
}

// steps counts by the tally what the witness takes.
func steps(t *testing.T, pattern string, r Result, pumps int) number {
	t.Helper()
	tr, bad := parse(pattern, Options{})
	if bad != nil {
		t.Fatal(bad.what)
	}
	a := newAlphabet(tr, &budget{1 << 40})
	word := func(s string) (w []int) {
		for _, r := range s {
			w = append(w, a.atom(r))
		}
		return w
	}
	w := attack{prefix: word(r.Witness.Prefix), pump: word(r.Witness.Pump), suffix: word(r.Witness.Suffix)}
	return newTally(compile(tr, JS), a).search(w, pumps, false, 1<<30).total
}
