package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Wire says what a proxy speaks. The zero value is HTTP/1.1 without TLS on
// both sides.
type Wire struct {
	TLS     bool // to callers, with the bench's certificate
	GRPC    bool // HTTP/2 without TLS, to callers and to workers
	Upgrade bool // WebSockets; nginx has to be told
}

// scheme returns that of the proxy's URL.
func (w Wire) scheme() string {
	if w.TLS {
		return "https"
	}
	return "http"
}

// Transport returns one for callers of a proxy. The bench's certificate is of no
// authority.
func (w Wire) Transport() *http.Transport {
	t := &http.Transport{DisableCompression: true}
	if w.TLS {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // loopback, and a certificate made a moment ago
	}
	if w.GRPC {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	return t
}

// pair is where a certificate and its key are, and both in one file.
type pair struct{ cert, key, both string }

// certificate makes the bench's certificate, once.
func (b *Bench) certificate() (pair, error) {
	p := pair{filepath.Join(b.dir, "cert.pem"), filepath.Join(b.dir, "key.pem"), filepath.Join(b.dir, "both.pem")}
	if _, err := os.Stat(p.both); err == nil {
		return p, nil
	}
	cert, key, err := selfSigned()
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	for file, text := range map[string][]byte{p.cert: cert, p.key: key, p.both: slices.Concat(cert, key)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return pair{}, err
		}
	}
	return p, nil
}

// selfSigned returns a certificate for loopback addresses, and its key, in PEM.
func selfSigned() (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err = x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), nil
}
