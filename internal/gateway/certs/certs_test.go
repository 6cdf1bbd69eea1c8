package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
)

// write makes a certificate and writes its files anew, as certbot does: beside the
// old ones, and then in their place.
func write(t *testing.T, p certs.Pair, serial int64, names ...string) {
	t.Helper()
	writeUntil(t, p, serial, time.Now().Add(time.Hour), names...)
}

func writeUntil(t *testing.T, p certs.Pair, serial int64, until time.Time, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: until, DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string]*pem.Block{p.Cert: {Type: "CERTIFICATE", Bytes: der}, p.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file+".new", pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
}

// served is the serial number of the certificate that a caller gets.
func served(t *testing.T, s *certs.Store, name string) int64 {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		c := tls.Server(server, s.TLS())
		_ = c.Handshake()
		c.Close()
	}()
	c := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // what is served is looked at
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// A certificate that has expired does not replace a valid one. If both have expired, the
// files are followed.
func TestAnExpiredCertificateIsNoRenewal(t *testing.T) {
	dir := t.TempDir()
	p := certs.Pair{Cert: filepath.Join(dir, "a.pem"), Key: filepath.Join(dir, "a.key")}
	write(t, p, 1, "a.example")
	var log bytes.Buffer
	s, err := certs.New(certs.Config{Pairs: []certs.Pair{p}, Every: time.Nanosecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	writeUntil(t, p, 2, time.Now().Add(-time.Hour), "a.example")
	for range 2 {
		if got := served(t, s, "a.example"); got != 1 {
			t.Errorf("certificate %d is served, and 1 is still valid", got)
		}
	}
	if n := strings.Count(log.String(), "the new certificate expired at "); n != 1 {
		t.Errorf("the log says so %d times, want once: %s", n, log.String())
	}
	write(t, p, 3, "a.example")
	if got := served(t, s, "a.example"); got != 3 {
		t.Errorf("certificate %d is served, want the renewed one", got)
	}
	writeUntil(t, p, 4, time.Now().Add(-time.Hour), "a.example")
	if s, err = certs.New(certs.Config{Pairs: []certs.Pair{p}, Every: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	writeUntil(t, p, 5, time.Now().Add(-time.Minute), "a.example")
	if got := served(t, s, "a.example"); got != 5 {
		t.Errorf("certificate %d is served, want the one in the files", got)
	}
}

func TestCertificatesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	a := certs.Pair{Cert: filepath.Join(dir, "a.pem"), Key: filepath.Join(dir, "a.key")}
	b := certs.Pair{Cert: filepath.Join(dir, "b.pem"), Key: filepath.Join(dir, "b.key")}
	write(t, a, 1, "a.example")
	write(t, b, 2, "b.example", "*.wild.example")
	var log bytes.Buffer
	s, err := certs.New(certs.Config{Pairs: []certs.Pair{a, b}, Every: time.Nanosecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want map[string]int64) {
		t.Helper()
		for name, serial := range want {
			if got := served(t, s, name); got != serial {
				t.Errorf("%s, %s: certificate %d, want %d", when, name, got, serial)
			}
		}
	}
	expect("at first", map[string]int64{"a.example": 1, "b.example": 2, "x.wild.example": 2, "other.example": 1, "": 1})

	write(t, a, 3, "a.example")
	write(t, b, 4, "c.example")
	expect("renewed", map[string]int64{"a.example": 3, "c.example": 4, "b.example": 3})

	// In the middle of a renewal the files do not belong together.
	old, err := os.ReadFile(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, a, 5, "a.example")
	key, err := os.ReadFile(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(a.Key, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(old)
	log.Reset()
	expect("half renewed", map[string]int64{"a.example": 3, "c.example": 4})
	if n := strings.Count(log.String(), "could not be renewed"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	put(key)
	expect("wholly renewed", map[string]int64{"a.example": 5})
	if err := os.Remove(a.Cert); err != nil {
		t.Fatal(err)
	}
	expect("removed", map[string]int64{"a.example": 5})

	set, err := certs.Load([]certs.Pair{b})
	if err != nil {
		t.Fatal(err)
	}
	s.Use(set)
	expect("with other settings", map[string]int64{"a.example": 4})
	if _, err := certs.Load([]certs.Pair{b, a}); err == nil || !strings.Contains(err.Error(), a.Cert) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := certs.Load(nil); err == nil {
		t.Error("no files at all are fine")
	}
}

// Authorities and certificates of workers are followed for connections that are made
// from then on.
func TestTrustIsFollowed(t *testing.T) {
	dir := t.TempDir()
	ca := certs.Pair{Cert: filepath.Join(dir, "ca.pem"), Key: filepath.Join(dir, "ca.key")}
	own := certs.Pair{Cert: filepath.Join(dir, "own.pem"), Key: filepath.Join(dir, "own.key")}
	write(t, ca, 1, "worker.example")
	write(t, own, 2, "gateway.example")
	var log bytes.Buffer
	c, err := certs.NewClient(certs.ClientConfig{CA: ca.Cert, Pair: own, Every: time.Nanosecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	// shake is one handshake with a worker; it returns the serial number of the
	// certificate that the worker was shown.
	shake := func(host string) (int64, error) {
		cert, err := tls.LoadX509KeyPair(ca.Cert, ca.Key)
		if err != nil {
			t.Fatal(err)
		}
		client, server := net.Pipe()
		defer client.Close()
		seen := make(chan int64, 1)
		go func() {
			defer server.Close()
			s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert, MaxVersion: tls.VersionTLS12})
			if err := s.Handshake(); err != nil || len(s.ConnectionState().PeerCertificates) == 0 {
				seen <- 0
				return
			}
			seen <- s.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		}()
		if err := tls.Client(client, c.TLS(host)).Handshake(); err != nil {
			return 0, err
		}
		return <-seen, nil
	}
	if serial, err := shake("worker.example"); err != nil || serial != 2 {
		t.Errorf("at first the worker saw certificate %d, %v", serial, err)
	}
	if _, err := shake("other.example"); err == nil || !strings.Contains(err.Error(), "other.example") {
		t.Errorf("another name: %v", err)
	}
	write(t, ca, 3, "worker.example")
	write(t, own, 4, "gateway.example")
	if serial, err := shake("worker.example"); err != nil || serial != 4 {
		t.Errorf("renewed, the worker saw certificate %d, %v", serial, err)
	}
	if err := os.WriteFile(own.Key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	for range 2 {
		if serial, err := shake("worker.example"); err != nil || serial != 4 {
			t.Errorf("half renewed, the worker saw certificate %d, %v", serial, err)
		}
	}
	if n := strings.Count(log.String(), "could not be renewed"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	for _, cfg := range []certs.ClientConfig{{CA: own.Key}, {CA: filepath.Join(dir, "none.pem")}, {Pair: own}} {
		if _, err := certs.NewClient(cfg); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("NewClient(%+v): %v", cfg, err)
		}
	}
}
