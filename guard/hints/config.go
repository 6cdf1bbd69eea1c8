package hints

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Store receives hints. *guard.HintStore implements it.
type Store interface {
	Set(source guard.Source, set guard.HintSet, at time.Time) error
}

// Config configures a Poller. URL and Store are required.
type Config struct {
	URL    string      `json:"url"`
	Header http.Header `json:"-"` // such as Authorization; not printed
	Store  Store       `json:"-"`
	// Client can have its own TLS settings. The default opens one connection per request,
	// so that the transport never retries by itself, and does not follow redirects.
	Client *http.Client `json:"-"`

	// Indices selects the indices by patterns with *; a pattern that begins with -
	// excludes. Default: all. Names with a leading dot, except backing indices of data
	// streams, need a pattern that begins with a dot.
	Indices []string

	Interval time.Duration  // between polls, varied by 10 %; default 10 min
	Timeout  time.Duration  // of one request; default 10 s
	Backoff  backoff.Config // waits after failures; default 5 s to 10 min

	MaxIndices int   // maximum number of indices; default 1000
	MaxFields  int   // maximum number of fields per index; default 1000
	MaxAnswer  int64 // maximum size of a response in bytes; default 16 MiB

	Log *slog.Logger `json:"-"` // nil discards
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	set(&c.Interval, 10*time.Minute)
	set(&c.Timeout, 10*time.Second)
	set(&c.Backoff.Base, 5*time.Second)
	set(&c.Backoff.Cap, max(10*time.Minute, c.Backoff.Base))
	set(&c.MaxIndices, 1000)
	set(&c.MaxFields, 1000)
	set(&c.MaxAnswer, 16<<20)
	if c.Client == nil {
		c.Client = newClient()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// String returns the configuration without secrets.
func (c Config) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return c.URL
	}
	return string(text)
}

func set[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

func newClient() *http.Client {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs.Add("URL must be such as https://search:9200")
	} else if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		errs.Add("URL must not have a query, a fragment or a password; put a password into Header")
	}
	errs.If(c.Store == nil, "Store is missing")
	for _, p := range c.Indices {
		if _, err := path.Match(p, ""); err != nil {
			errs.Add("%q in Indices is not a pattern: %w", p, err)
		}
	}
	c = c.WithDefaults()
	for _, d := range []struct {
		name      string
		v         time.Duration
		low, high time.Duration
	}{
		{"Interval", c.Interval, time.Second, 24 * time.Hour},
		{"Timeout", c.Timeout, 100 * time.Millisecond, 10 * time.Minute},
	} {
		errs.If(d.v < d.low || d.v > d.high, "%s is %v, want %v to %v", d.name, d.v, d.low, d.high)
	}
	for _, n := range []struct {
		name string
		v    int64
		high int64
	}{
		{"MaxIndices", int64(c.MaxIndices), guard.MaxHintIndices / 4}, // leaves room for aliases and static hints
		{"MaxFields", int64(c.MaxFields), 100_000},
		{"MaxAnswer", c.MaxAnswer, 256 << 20},
	} {
		errs.If(n.v < 1 || n.v > n.high, "%s is %d, want 1 to %d", n.name, n.v, n.high)
	}
	errs.In(c.Backoff.Validate(), "Backoff")
	return errors.Join(errs...)
}

// chosen reports whether patterns select a name. If all patterns exclude, they select every
// other name.
func chosen(patterns []string, name string) bool {
	in, asked := false, false
	for _, p := range patterns {
		if out, ok := strings.CutPrefix(p, "-"); ok {
			if glob(out, name) {
				return false
			}
			continue
		}
		asked = true
		in = in || glob(p, name)
	}
	return in || !asked
}

// hidden reports whether a name is internal to the backend and no pattern selects it
// explicitly.
func hidden(patterns []string, name string) bool {
	if !strings.HasPrefix(name, ".") || strings.HasPrefix(name, ".ds-") {
		return false
	}
	return !slices.ContainsFunc(patterns, func(p string) bool { return strings.HasPrefix(p, ".") })
}

// glob matches a validated pattern.
func glob(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}
