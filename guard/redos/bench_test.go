package redos

import "testing"

// BenchmarkAnalyze is what expressions of about fifty characters take.
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
