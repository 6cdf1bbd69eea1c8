package redos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// Dialect is the language of an expression. It determines the engine that runs it.
type Dialect uint8

// The engines up to MySQL backtrack. RE2, Lucene and Postgres run automata.
const (
	JS     Dialect = iota // V8, SpiderMonkey, JavaScriptCore
	Python                // re of CPython
	PCRE                  // PCRE2, Perl, PHP, MariaDB
	Ruby                  // Onigmo, without its memoization since 3.2
	Java                  // java.util.regex
	DotNet                // System.Text.RegularExpressions
	MySQL                 // ICU, since 8.0
	RE2                   // RE2, Go, Rust
	Lucene                // Elasticsearch and OpenSearch regexp
	Postgres
)

func (d Dialect) String() string {
	if names := dialectNames(); int(d) < len(names) {
		return names[d][0]
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// Dialects returns the names of the dialects, spelled as by [Dialect.String].
func Dialects() []string {
	all := dialectNames()
	return each.Of(all[:], func(names []string) string { return names[0] })
}

// ParseDialect parses the name of a dialect, ignoring case. It also knows the names of
// languages and products that use it. The error lists all known names.
func ParseDialect(name string) (Dialect, error) {
	for d, names := range dialectNames() {
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return Dialect(d), nil
			}
		}
	}
	var known []string
	for _, names := range dialectNames() {
		one := names[0]
		if len(names) > 1 {
			one += " (" + strings.Join(names[1:], ", ") + ")"
		}
		known = append(known, one)
	}
	return JS, fmt.Errorf("redos: unknown dialect %q: %s", name, strings.Join(known, ", "))
}

// Backtracks reports whether the dialect's engine backtracks.
func (d Dialect) Backtracks() bool { return d < RE2 }

func dialectNames() [Postgres + 1][]string {
	return [...][]string{
		JS:       {"js", "javascript", "ecmascript", "node", "nodejs", "typescript", "ts"},
		Python:   {"python", "python3", "py"},
		PCRE:     {"pcre", "pcre2", "perl", "php", "mariadb", "nginx", "snort"},
		Ruby:     {"ruby", "onigmo", "oniguruma"},
		Java:     {"java", "kotlin", "scala", "groovy", "clojure"},
		DotNet:   {"dotnet", ".net", "net", "csharp", "c#", "powershell"},
		MySQL:    {"mysql", "icu", "swift"},
		RE2:      {"re2", "go", "golang", "go/re2", "rust", "hyperscan", "clickhouse"},
		Lucene:   {"lucene", "elasticsearch", "opensearch"},
		Postgres: {"postgres", "postgresql", "pg"},
	}
}

func (d Dialect) is(some ...Dialect) bool {
	return slices.Contains(some, d)
}
