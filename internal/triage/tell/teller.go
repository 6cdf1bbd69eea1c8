package tell

import (
	"net/http"
	"time"
)

// Config says how a [Teller] tells.
type Config struct {
	// Environ is what commands inherit, but for what is Bezoar's own
	// (BEZOAR_*, the service manager's socket) and the names in Secrets.
	Environ []string
	Secrets []string
	Mail    Server
	Now     func() time.Time // default time.Now
	// Transport takes requests to webhooks. Nil: one that uses each connection once.
	Transport http.RoundTripper
}

// Teller tells. It is safe for concurrent use.
type Teller struct {
	c      Config
	client *http.Client
}

func New(c Config) *Teller {
	if c.Now == nil {
		c.Now = time.Now
	}
	t := &Teller{c: c, client: newClient()}
	if c.Transport != nil {
		t.client.Transport = c.Transport
	}
	return t
}
