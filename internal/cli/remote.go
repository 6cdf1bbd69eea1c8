package cli

import (
	"context"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// remote is the part of a command that talks to a running Bezoar.
type remote struct {
	Admin string `placeholder:"ADDR" help:"The admin API of the running Bezoar (default $$BEZOAR_ADMIN, or 127.0.0.1:7070)."`
}

// client connects. The token comes only from the environment, because every user of the machine can see arguments.
func (r remote) client(s *session) (*adminapi.Client, error) {
	addr := r.Admin
	if addr == "" {
		addr = s.Getenv(adminVar)
	}
	c, err := adminapi.New(adminapi.Config{Address: addr, Token: s.Getenv(tokenVar), Actor: me(s.Getenv)})
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	return c, nil
}

// failure is an item that failed, as JSON.
type failure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// idDigits is the number of digits in an id after its prefix.
const idDigits = 12

// resolve completes an id that is given by its beginning. It calls list only if necessary.
func resolve(ctx context.Context, given, prefix, what string, list func(context.Context) ([]string, error)) (string, error) {
	digits := strings.TrimPrefix(strings.ToLower(given), prefix)
	if digits == "" || strings.Trim(digits, "0123456789abcdef") != "" || len(digits) > idDigits {
		return "", exitf(exitUsage, "%s %.60q: want an id such as %s3f9c00a1b2c4, or its beginning", what, given, prefix)
	}
	want := prefix + digits
	if len(digits) == idDigits {
		return want, nil
	}
	ids, err := list(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, want) {
			found = append(found, id)
		}
	}
	return oneOf(found, what, want)
}
