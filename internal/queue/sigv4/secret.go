package sigv4

import (
	"fmt"
	"log/slog"
)

// masked replaces a secret in all output.
const masked = "***"

// Secret is a secret access key. It prints as *** with every verb, also in logs and in JSON; only string(s) returns the
// key. (fmt does not call methods of unexported fields: keep a Verifier in such a field, not a Config.)
type Secret string

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// String returns ***, or "" if there is no secret.
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

// MarshalText returns what String returns, so that encoders do not show the secret either.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
