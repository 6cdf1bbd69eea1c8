// Package pgerror adds the name of the database and advice to errors of PostgreSQL.
package pgerror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Advice holds the texts that differ between users of a database.
type Advice struct {
	Forbidden string // how the role gets the missing privileges
}

// Explain adds the database's name, a text without the password, and advice if there is
// any.
func Explain(where string, err error, a Advice) error {
	if err == nil {
		return nil
	}
	say := func(what string) error { return fmt.Errorf("%s %s: %w", where, what, err) }
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "28P01", "28000":
			return say("does not let this user in; check user, password and pg_hba.conf")
		case "3D000":
			return say("does not exist; create the database")
		case "42501":
			return say("does not allow this; " + a.Forbidden)
		case "53300":
			return say("has no connection left; raise max_connections, or lower pool_max_conns in the URL")
		case "53100":
			return say("has a full disk; free space there. What was acknowledged is safe")
		case "25006":
			return say("is read-only, perhaps a standby; name the primary, or add target_session_attrs=read-write")
		case "26000", "42P05":
			return say("is behind a pooler that loses prepared statements; leave default_query_exec_mode out of the URL")
		}
		return say("refused")
	}
	if _, unreachable := errors.AsType[*pgconn.ConnectError](err); unreachable {
		err = &plain{tries(err.Error()), err}
		return say("cannot be reached; start it, check host and port")
	}
	return fmt.Errorf("%s: %w", where, err)
}

// plain has a text in one line.
type plain struct {
	text string
	err  error
}

func (e *plain) Error() string { return e.text }
func (e *plain) Unwrap() error { return e.err }

// tries returns what each address answered, without repetitions. The driver tries an address
// with TLS and without it, and writes each try on a line below a heading.
func tries(text string) string {
	_, rest, headed := strings.Cut(text, "`:")
	if !headed {
		return strings.Join(strings.Fields(text), " ")
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
		_, cause, ok := strings.Cut(strings.TrimSpace(line), "): ")
		if !ok {
			return strings.Join(strings.Fields(text), " ")
		}
		if cause = strings.TrimPrefix(cause, "dial error: "); !slices.Contains(out, cause) {
			out = append(out, cause)
		}
	}
	return strings.Join(out, "; ")
}
