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

// ClientConfig says what connections to servers prove, and what they demand. The
// zero value demands a certificate of an authority that the system trusts, for the
// name that is asked.
type ClientConfig struct {
	CA    string        // file of the authorities that are trusted, as PEM; "": those of the system
	Name  string        // that certificates must have; "": the host that is asked
	Pair  Pair          // the client's own certificate; empty: none
	Every time.Duration // between looks at the files; default a second
	Log   *slog.Logger  // default: none
}

// Client makes the settings of connections to servers. Files that change are read
// again, as a [Store]'s are; connections that are open stay as they are. Its methods
// may be called at the same time.
type Client struct {
	cfg ClientConfig

	now atomic.Pointer[tls.Config] // for the next connection; replaced, never changed

	mu     sync.Mutex // guards what follows
	looked time.Time
	ca     fs.FileInfo // as it was before it was read; nil without one
	fault  string      // the last one of the authorities that was logged
	pair   *item       // nil without one
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

// renew makes what connections get from now on. Sessions of before are not resumed:
// they would go on under what held then. mu is held, or nobody knows c yet.
func (c *Client) renew(pool *x509.CertPool) {
	t := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if c.pair != nil {
		t.Certificates = []tls.Certificate{*c.pair.cert.Load()}
	}
	c.now.Store(t)
}

// follow reads again what has changed. Of connections that are made at once, one does.
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

// tell logs an error that is not the one that was logged last, and returns it.
func (c *Client) tell(err error, last string) string {
	if err == nil {
		return ""
	}
	if err.Error() != last {
		c.cfg.Log.Error("files for connections to workers could not be renewed; those before are used", "error", err)
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
