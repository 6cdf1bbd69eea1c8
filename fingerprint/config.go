package fingerprint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Key is the secret of the deployment. Without it, nobody can compute a fingerprint or
// make a request with the fingerprint of another one.
type Key [32]byte

// String hides the secret from logs.
func (Key) String() string { return "fingerprint.Key(redacted)" }

// GoString hides the secret from %#v.
func (k Key) GoString() string { return k.String() }

// Bounds of a [Config].
const (
	DefaultMaxBody = 64 << 10 // of Config.MaxBody
	MaxMaxBody     = 16 << 20 // the most that Config.MaxBody may be
	MaxHeaders     = 32       // number of Config.Headers
	MaxIgnore      = 64       // number of Config.Ignore
)

// Config says what is part of the identity of work. The zero value is useful.
type Config struct {
	// Headers names request headers that are part of identity. Content-Type and
	// Content-Encoding always are.
	Headers []string
	// Ignore names parts that are left out of identity: "header:X-Request-Id", "query:ts",
	// "form:nonce", "json:$.ts", "json:$.items[*].id", `json:$["odd name"]`.
	Ignore []string
	// Volatile names header fields that differ in each request, such as X-Nonce. They are
	// left out of variants, like those of [DefaultVolatile].
	Volatile []string
	// MaxBody bounds the bytes of a body that are canonicalised and hashed
	// when the work is admitted; 0 means DefaultMaxBody.
	MaxBody int
}

// Validate reports every fault at once, each with its field.
func (c Config) Validate() error {
	_, err := c.compile()
	return err
}

// rules is a compiled Config.
type rules struct {
	headers  []string // sorted, as configured
	query    []string
	form     []string
	json     *node // nil: nothing is ignored
	maxBody  int
	volatile map[string]bool // in lower case
	prefixes []string        // of volatile fields
}

func (c Config) compile() (rules, error) {
	r := rules{maxBody: c.MaxBody}
	var errs faults.List
	if c.MaxBody == 0 {
		r.maxBody = DefaultMaxBody
	}
	errs.If(c.MaxBody < 0 || c.MaxBody > MaxMaxBody, "MaxBody: %d is outside 0 to %d", c.MaxBody, MaxMaxBody)
	if n := len(c.Headers); n > MaxHeaders {
		errs = append(errs, fmt.Errorf("Headers: %d entries, at most %d", n, MaxHeaders))
	}
	if n := len(c.Ignore); n > MaxIgnore {
		errs = append(errs, fmt.Errorf("Ignore: %d entries, at most %d", n, MaxIgnore))
	}
	seen := map[string]bool{}
	for i, h := range c.Headers {
		if err := checkHeader(h); err != nil {
			errs = append(errs, fmt.Errorf("Headers[%d]: %w", i, err))
		} else if l := strings.ToLower(h); seen[l] {
			errs = append(errs, fmt.Errorf("Headers[%d]: %s is named twice", i, h))
		} else {
			seen[l] = true
			r.headers = append(r.headers, h)
		}
	}
	slices.SortFunc(r.headers, func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
	for i, rule := range c.Ignore {
		errs.In(r.ignore(rule, seen), "Ignore[%d]", i)
	}
	errs = append(errs, r.volatiles(c.Volatile, seen)...)
	return r, errors.Join(errs...)
}

// ignore compiles one entry of Config.Ignore.
func (r *rules) ignore(rule string, chosen map[string]bool) error {
	kind, what, ok := strings.Cut(rule, ":")
	if !ok || what == "" {
		return fmt.Errorf("%.80q has no name, want header:NAME, query:NAME, form:NAME or json:$.PATH", rule)
	}
	switch kind {
	case "header":
		if err := checkHeader(what); err != nil {
			return err
		}
		if chosen[strings.ToLower(what)] {
			return fmt.Errorf("%.80q is also chosen in Headers", rule)
		}
	case "query":
		r.query = append(r.query, what)
	case "form":
		r.form = append(r.form, what)
	case "json":
		steps, err := parsePath(what)
		if err != nil {
			return fmt.Errorf("%.80q: %w", rule, err)
		}
		if r.json == nil {
			r.json = &node{}
		}
		r.json.add(steps)
	default:
		return fmt.Errorf("%.80q: kind %.20q is unknown, want header, query, form or json", rule, kind)
	}
	return nil
}

// checkHeader accepts names of header fields (RFC 9110) that a Config may use.
func checkHeader(name string) error {
	if name == "" {
		return errors.New("the header's name is empty")
	}
	for i := range len(name) {
		if !isToken(name[i]) {
			return fmt.Errorf("%.80q is not a header name", name)
		}
	}
	switch strings.ToLower(name) {
	case "content-type", "content-encoding":
		return fmt.Errorf("%s is always part of identity", name)
	case "content-length", "transfer-encoding":
		return fmt.Errorf("%s is never part of identity: the body is", name)
	}
	return nil
}

func isToken(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
