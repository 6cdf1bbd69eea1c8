package guard

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/redos"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

// ParseDialect parses the name of a dialect of the kind, with optional modes or flags, as
// in mysql+ansi_quotes or js/i. "" is the default dialect. For an unknown name the error
// lists the known ones. Check is more tolerant: it accepts unknown dialects, because
// traffic should not fail on them.
func (k Kind) ParseDialect(name string) (string, error) {
	switch {
	case name == "":
		return "", nil
	case k == SQL:
		return sql.ParseDialect(name)
	case k == Regex:
		base, _, _ := strings.Cut(name, "/")
		_, err := redos.ParseDialect(base)
		return name, err
	}
	return "", fmt.Errorf("%s has no dialects", k)
}
