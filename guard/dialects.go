package guard

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/redos"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

// ParseDialect reads the name of a dialect of the kind, with modes or flags
// behind it (mysql+ansi_quotes, js/i), and says which ones there are when that is
// none. "" is the default one. Check reads what it does not know tolerantly,
// which is right for traffic and wrong for a name that somebody typed.
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
