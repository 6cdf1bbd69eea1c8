package sigv4

import (
	"fmt"
	"log/slog"
)

// masked is all that is ever shown of a secret.
const masked = "***"

// Secret is a secret access key. It prints as *** whatever the verb, also in
// logs and in JSON; string(s) is the only way to the key. (fmt cannot ask the
// fields that a struct does not export: keep a Verifier there, not a Config.)
type Secret string

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// String returns ***, or nothing when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString returns what String returns.
func (s Secret) GoString() string { return s.String() }

// LogValue returns what String returns.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns what String returns, so that encoders show no secret
// either.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
