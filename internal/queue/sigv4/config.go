package sigv4

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Defaults of a zero Config, and its limits.
const (
	DefaultService = "sqs"
	DefaultMaxSkew = 15 * time.Minute // as AWS
	DefaultMaxBody = 8 << 20          // a batch of 1 MiB, form-encoded twice, with a reserve

	maxSkewLimit = 24 * time.Hour // with more, a captured request would stay valid for days
	maxKeys      = 1000
	maxKeyID     = 128 // AWS's own bound
)

// Config holds the accepted keys and the limits. It prints without its secrets.
type Config struct {
	// Keys holds the secrets by access key id. Without keys, every signed request is refused: the caller decides whether to
	// verify at all.
	Keys map[string]Secret
	// Service is the service in the credential scope. Default sqs.
	Service string
	// MaxSkew is the largest difference between a request's date and now. Default 15 minutes, at most a day.
	MaxSkew time.Duration
	// MaxBody is the longest body that is hashed, in bytes. Default 8 MiB.
	MaxBody int
	// Signed names headers that change the effect of a request, in addition to Host and all that begin with X-Amz-. If a
	// request has such a header, it must be signed.
	Signed []string
}

// Validate returns every fault, each with the field's name.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(len(c.Keys) > maxKeys, "Keys: %d keys, at most %d", len(c.Keys), maxKeys)
	for _, id := range slices.Sorted(maps.Keys(c.Keys)) {
		errs.If(!isKeyID(id), "Keys: the access key id %s is not 1 to %d letters, digits, '-', '_', '.', '~' and '/'", shown(id), maxKeyID)
		errs.If(c.Keys[id] == "", "Keys: the access key %q has no secret", id)
	}
	errs.If(c.Service != "" && !isWord(c.Service), "Service: %q is not a service's name", c.Service)
	errs.If(c.MaxSkew < 0 || c.MaxSkew > maxSkewLimit, "MaxSkew: %v, want 0 (%v) to %v", c.MaxSkew, DefaultMaxSkew, maxSkewLimit)
	errs.If(c.MaxBody < 0, "MaxBody: %d bytes is less than none", c.MaxBody)
	for _, name := range c.Signed {
		errs.If(!isHeader(strings.ToLower(name)), "Signed: %q is not a header's name", name)
	}
	return errors.Join(errs...)
}

// withDefaults returns a copy that shares nothing with c.
func (c Config) withDefaults() Config {
	c.Keys = maps.Clone(c.Keys)
	c.Service = cmp.Or(c.Service, DefaultService)
	c.MaxSkew = cmp.Or(c.MaxSkew, DefaultMaxSkew)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	signed := each.Of(c.Signed, http.CanonicalHeaderKey)
	c.Signed = signed
	return c
}

// String shows everything but the secrets.
func (c Config) String() string {
	keys := slices.Sorted(maps.Keys(c.Keys))
	for i, id := range keys {
		keys[i] = id + "=" + c.Keys[id].String()
	}
	d := c.withDefaults()
	return fmt.Sprintf("service %s, skew %v, bodies up to %d bytes, keys [%s], signed [%s]",
		d.Service, d.MaxSkew, d.MaxBody, strings.Join(keys, " "), strings.Join(d.Signed, " "))
}

// GoString returns what String returns.
func (c Config) GoString() string { return "sigv4.Config{" + c.String() + "}" }

// LogValue returns what String returns.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// isKeyID reports whether s can be the id of an access key.
func isKeyID(s string) bool {
	return len(s) <= maxKeyID && isWord(strings.ReplaceAll(s, "/", "-"))
}

// isWord reports whether s is valid in a credential scope.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !isUnreserved(byte(r)) })
}

// isHeader reports whether s is a header's name in lower case.
func isHeader(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || 'A' <= c && c <= 'Z' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
