package certs

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// ClientConfig says how connections to servers authenticate, and what they require. The zero value requires a certificate
// for the requested host, from an authority that the system trusts.
type ClientConfig struct {
	CA    string        // file of the trusted authorities, as PEM; "": those of the system
	Name  string        // name that certificates must have; "": the requested host
	Pair  Pair          // the client's own certificate; empty: none
	Every time.Duration // between checks of the files; default one second
	Log   *slog.Logger  // default: none
}

// Client makes the settings of connections to servers. It reads changed files again, as a [Store] does; open connections
// stay as they are. It is safe for concurrent use.
type Client struct {
	cfg ClientConfig

	now atomic.Pointer[tls.Config] // for the next connection; replaced, never changed

	mu     sync.Mutex // guards what follows
	looked time.Time
	ca     fs.FileInfo // as it was before it was read; nil: none
	fault  string      // the last one of the authorities that was logged
	pair   *item       // nil: none
}

// NewClient reads the files.
func NewClient(cfg ClientConfig) (*Client, error) {
	cfg.Every = cmp.Or(cfg.Every, time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	c := &Client{cfg: cfg, looked: time.Now()}
	var pool *x509.CertPool
	var err error
	if cfg.CA != "" {
		if pool, err = c.readCA(); err != nil {
			return nil, err
		}
	}
	if cfg.Pair != (Pair{}) {
		c.pair = &item{pair: cfg.Pair}
		if err := c.pair.read(); err != nil {
			return nil, err
		}
	}
	c.renew(pool)
	return c, nil
}

// TLS returns the settings of one connection to a host. The caller may change them.
func (c *Client) TLS(host string) *tls.Config {
	c.follow()
	t := c.now.Load().Clone()
	if t.ServerName = c.cfg.Name; t.ServerName == "" {
		t.ServerName = host
	}
	return t
}

// renew makes the settings of new connections. Sessions from before are not resumed, because they would go on under the old
// settings. The caller holds mu, or c is not in use yet.
func (c *Client) renew(pool *x509.CertPool) {
	t := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if c.pair != nil {
		t.Certificates = []tls.Certificate{*c.pair.cert.Load()}
	}
	c.now.Store(t)
}

// follow reads changed files again. If several connections are made at once, one of them does it.
func (c *Client) follow() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.looked) < c.cfg.Every {
		return
	}
	c.looked = now
	pool := c.now.Load().RootCAs
	renewed := false
	if c.ca != nil {
		if info, err := os.Stat(c.cfg.CA); err != nil || other(c.ca, info) {
			fresh, err := c.readCA()
			if renewed = err == nil; renewed {
				pool = fresh
				c.cfg.Log.Info("the authorities of workers were renewed", "ca", c.cfg.CA)
			}
			c.fault = c.tell(err, c.fault)
		}
	}
	if c.pair != nil && c.pair.changed() {
		err := c.pair.read()
		if err == nil {
			renewed = true
			c.cfg.Log.Info("a certificate was renewed", "cert", c.pair.pair.Cert, "until", c.pair.cert.Load().Leaf.NotAfter)
		}
		c.pair.fault = c.tell(err, c.pair.fault)
	}
	if renewed {
		c.renew(pool)
	}
}

// tell logs an error if it differs from the last one, and returns it.
func (c *Client) tell(err error, last string) string {
	if err == nil {
		return ""
	}
	if err.Error() != last {
		c.cfg.Log.Error("files for connections to workers could not be renewed; the old ones stay in use", "error", err)
	}
	return err.Error()
}

func (c *Client) readCA() (*x509.CertPool, error) {
	text, info, err := regular.Stable(c.cfg.CA, maxFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate is in it", c.cfg.CA)
	}
	c.ca = info
	return pool, nil
}
