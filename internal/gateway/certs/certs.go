package certs

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// Pair names the files of a certificate, with its chain, and of its key, as PEM.
type Pair struct{ Cert, Key string }

// Config names the certificates.
type Config struct {
	Pairs []Pair        // at least one
	Every time.Duration // between looks at the files; default a second
	Log   *slog.Logger  // default: none
}

// Store serves certificates. It is safe for concurrent use.
type Store struct {
	every time.Duration
	log   *slog.Logger
	now   atomic.Pointer[Set]

	mu     sync.Mutex // guards what follows
	looked time.Time
}

// Set is the content of some pairs of files.
type Set struct{ items []*item }

// item is one pair. Its certificate is replaced atomically; everything else changes only under Store.mu.
type item struct {
	pair  Pair
	cert  atomic.Pointer[tls.Certificate]
	files [2]fs.FileInfo // as they were before they were read
	fault string         // the last one that was logged
}

// Load reads the pairs, all or none.
func Load(pairs []Pair) (*Set, error) {
	if len(pairs) == 0 {
		return nil, errors.New("no certificate is named")
	}
	s := new(Set)
	for _, p := range pairs {
		it := &item{pair: p}
		if err := it.read(); err != nil {
			return nil, err
		}
		s.items = append(s.items, it)
	}
	return s, nil
}

// New returns a store of the certificates of cfg.Pairs.
func New(cfg Config) (*Store, error) {
	set, err := Load(cfg.Pairs)
	if err != nil {
		return nil, err
	}
	cfg.Every = cmp.Or(cfg.Every, time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Store{every: cfg.Every, log: cfg.Log, looked: time.Now()}
	s.now.Store(set)
	return s, nil
}

// Use serves another set from now on.
func (s *Store) Use(set *Set) { s.now.Store(set) }

// TLS returns the settings of a listener that serves the store's certificates.
func (s *Store) TLS() *tls.Config {
	return &tls.Config{GetCertificate: s.GetCertificate, MinVersion: tls.VersionTLS12}
}

func (s *Store) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	set := s.now.Load()
	s.follow(set)
	for _, it := range set.items {
		if c := it.cert.Load(); hello.SupportsCertificate(c) == nil {
			return c, nil
		}
	}
	return set.items[0].cert.Load(), nil
}

// follow reads changed files again. If several connections come at once, one of them does it.
func (s *Store) follow(set *Set) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.looked) < s.every {
		return
	}
	s.looked = now
	for _, it := range set.items {
		if !it.changed() {
			continue
		}
		switch err := it.renew(now); {
		case err == nil:
			it.fault = ""
			s.log.Info("a certificate was renewed", "cert", it.pair.Cert, "until", it.cert.Load().Leaf.NotAfter)
		case err.Error() != it.fault:
			it.fault = err.Error()
			s.log.Error("a certificate could not be renewed; the old one is still served", "error", err)
		}
	}
}

func (it *item) changed() bool {
	for i, name := range [...]string{it.pair.Cert, it.pair.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return true // the read returns the error
		}
		if other(it.files[i], info) {
			return true
		}
	}
	return false
}

func other(was, is fs.FileInfo) bool {
	return !os.SameFile(was, is) || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime())
}

// maxFile bounds a certificate with its chain.
const maxFile = 1 << 20

// read takes what the files hold.
func (it *item) read() error {
	cert, files, err := it.load()
	if err == nil {
		it.cert.Store(cert)
		it.files = files
	}
	return err
}

// renew is read, but it does not replace a valid certificate by one that is not valid now.
func (it *item) renew(now time.Time) error {
	cert, files, err := it.load()
	if err != nil {
		return err
	}
	if fault := outOfDate(cert.Leaf, now); fault != "" && outOfDate(it.cert.Load().Leaf, now) == "" {
		return fmt.Errorf("%s: the new certificate %s", it.pair.Cert, fault)
	}
	it.cert.Store(cert)
	it.files = files
	return nil
}

// outOfDate says why a certificate is not valid now.
func outOfDate(c *x509.Certificate, now time.Time) string {
	switch {
	case now.After(c.NotAfter):
		return "expired at " + c.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	}
	return ""
}

func (it *item) load() (*tls.Certificate, [2]fs.FileInfo, error) {
	var files [2]fs.FileInfo
	var text [2][]byte
	for i, name := range [...]string{it.pair.Cert, it.pair.Key} {
		var err error
		if text[i], files[i], err = regular.Stable(name, maxFile); err != nil {
			return nil, files, err
		}
	}
	cert, err := tls.X509KeyPair(text[0], text[1])
	if err != nil {
		return nil, files, fmt.Errorf("%s and %s: %w", it.pair.Cert, it.pair.Key, err)
	}
	return &cert, files, nil
}
