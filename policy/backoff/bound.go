package backoff

import (
	"fmt"
	"strings"
	"time"
)

// maxTerms is how many different waits [Config.Explain] lists.
const maxTerms = 6

// run is count waits in a row, of at most each.
type run struct {
	each  time.Duration
	count int
}

func (r run) String() string {
	if r.count == 1 {
		return r.each.String()
	}
	return fmt.Sprintf("%d × %v", r.count, r.each)
}

// runs returns the ceilings of the waits between attempts deliveries. Ceilings that no longer grow are the last run. The
// result has at most 64 runs, because growing ceilings at least double.
func (c Config) runs(attempts int) []run {
	c = c.WithDefaults()
	var out []run
	each, factor := c.growth()
	for left := attempts - 1; left > 0; left-- {
		if factor == 1 || each >= c.Cap {
			return append(out, run{each, left})
		}
		out = append(out, run{each, 1})
		each = c.grow(each, factor)
	}
	return out
}

// RetryBound returns the longest time that all waits between attempts deliveries can take together, without the deliveries
// themselves. A sum that exceeds a [time.Duration] is the longest Duration.
func (c Config) RetryBound(attempts int) time.Duration {
	sum := time.Duration(0)
	for _, r := range c.runs(attempts) {
		if r.each > 0 && time.Duration(r.count) > (maxDuration-sum)/r.each {
			return maxDuration
		}
		sum += r.each * time.Duration(r.count)
	}
	return sum
}

// Explain returns the arithmetic of [Config.RetryBound] in one line: "1s + 2s + 4s + 8s = 15s".
func (c Config) Explain(attempts int) string {
	runs := c.runs(attempts)
	if len(runs) == 0 {
		return "no waits = 0s"
	}
	var terms []string
	for i, r := range runs {
		switch skipped := len(runs) - maxTerms + 1; {
		case len(runs) <= maxTerms || i < maxTerms-3 || i >= maxTerms-3+skipped:
			terms = append(terms, r.String())
		case i == maxTerms-3:
			terms = append(terms, fmt.Sprintf("… (%d more)", skipped))
		}
	}
	sum := "more than 292 years"
	if bound := c.RetryBound(attempts); bound < maxDuration {
		sum = bound.String()
	}
	return strings.Join(terms, " + ") + " = " + sum
}
