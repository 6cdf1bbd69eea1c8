package redos

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAnalyze is what single expressions of about fifty characters take.
func BenchmarkAnalyze(b *testing.B) {
	for name, pattern := range map[string]string{
		"safe":        `^[A-Z]{2}\d{4}-(?:red|green|blue)-[a-z]+(?:\.[a-z]+)?$`,
		"search":      `(?:invoice|receipt)\s+no\.\s*(\d+)\s*,\s*date:\s+\S+$`,
		"polynomial":  `^\s*(?:id|key)\s*[:=]\s*\w+\d+\s*(?:[;,]\s*)?$`,
		"exponential": `^(?:[a-z]+(?:-[a-z]+|[a-z0-9])*\.)+(?:example|test)$`,
		"words":       `\b(?:select|insert|update|delete)\b.*\bfrom\b`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyze(pattern, Options{})
			}
		})
	}
}

// BenchmarkShort runs expressions of fifty bytes at most, of every class, and
// reports the times of single ones: the middle, one in a hundred, the longest.
func BenchmarkShort(b *testing.B) {
	quantiles(b, shortExpressions(), JS, Python, PCRE)
}

// BenchmarkHostile does the same with a thousand bytes that were written to be
// expensive.
func BenchmarkHostile(b *testing.B) {
	var all []string
	for _, part := range []string{
		"a*", "(a+)+", "(?:a*b*)*", "(?:a|b|ab)*", ".*", `\w*\d*`, "(?=.*a)", `(a*)\1`, "(?:a?b?c?)*", "a?", "(a{1,30}){1,30}",
		"[ab]*[bc]*", `(\w+\s?)*;`, ".{0,9}", "(?>a*)", "(?<=a+)", `(?:.*,)*\b`,
	} {
		all = append(all, strings.Repeat(part, 1000/len(part))+"!", "(?:"+strings.Repeat(part, 990/len(part))+")+!")
	}
	all = append(all,
		"(?:"+strings.Repeat("ab*c|", 198)+"b)*d",
		strings.Repeat("(", 150)+"x"+strings.Repeat("+)", 150)+"y",
		strings.Repeat("(?:a|", 120)+"b"+strings.Repeat(")*", 120)+"c",
		strings.Repeat("(|", 120)+strings.Repeat(")*", 120),
		strings.Repeat(`[\p{L}\p{Lu}\p{Greek}\P{Nd}]*`, 34),
	)
	quantiles(b, all, JS, PCRE, Lucene)
}

// quantiles runs every expression in every dialect, a few times in each round so
// that what else the machine does is left out, and reports the best of each.
func quantiles(b *testing.B, patterns []string, dialects ...Dialect) {
	b.Helper()
	b.ReportAllocs()
	var best []time.Duration
	for range len(patterns) * len(dialects) {
		best = append(best, time.Hour)
	}
	for b.Loop() {
		i := 0
		for _, pattern := range patterns {
			for _, d := range dialects {
				for range 3 {
					began := time.Now()
					Analyze(pattern, Options{Dialect: d})
					best[i] = min(best[i], time.Since(began))
				}
				i++
			}
		}
	}
	slices.Sort(best)
	for unit, d := range map[string]time.Duration{
		"p50-µs": best[len(best)/2], "p99-µs": best[len(best)-1-len(best)/100], "max-µs": best[len(best)-1],
	} {
		b.ReportMetric(float64(d.Microseconds()), unit)
	}
}
