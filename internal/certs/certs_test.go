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

	"github.com/bezoar-dev/bezoar/internal/certs"
)

// write makes a certificate and writes its files anew, as certbot does: beside the
// old ones, and then in their place.
func write(t *testing.T, p certs.Pair, serial int64, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
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
