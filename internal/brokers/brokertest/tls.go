package brokertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// Certificates holds files with certificates of one authority, for a server on this machine
// and for its clients.
type Certificates struct{ CA, Cert, Key, ClientCert, ClientKey string }

// NewCertificates creates certificates for the duration of the test.
func NewCertificates(t *testing.T) *Certificates {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		suite.Must(t, err)
	}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of " + t.Name() + rand.Text()}, SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	write := func(name string, cert *x509.Certificate, key *ecdsa.PrivateKey) (certFile, keyFile string) {
		t.Helper()
		der, err := x509.CreateCertificate(rand.Reader, cert, ca, &key.PublicKey, caKey)
		check(err)
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		check(err)
		certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		check(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
		check(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
		return certFile, keyFile
	}
	var c Certificates
	c.CA, _ = write("ca", ca, caKey)
	leaf := func(n int64, use x509.ExtKeyUsage) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		check(err)
		return &x509.Certificate{
			Subject: pkix.Name{CommonName: fmt.Sprint("number ", n)}, SerialNumber: big.NewInt(n), NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		}, key
	}
	cert, key := leaf(2, x509.ExtKeyUsageServerAuth)
	c.Cert, c.Key = write("server", cert, key)
	cert, key = leaf(3, x509.ExtKeyUsageClientAuth)
	c.ClientCert, c.ClientKey = write("client", cert, key)
	return &c
}

// Server returns a configuration for a server that shows its certificate and requires
// client certificates.
func (c *Certificates) Server(t *testing.T) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	suite.Must(t, err)
	text, err := os.ReadFile(c.CA)
	suite.Must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

// OverTLS tests connections to a server with these certificates. use connects to it with
// the given URL parameters. The errors must explain wrong parameters.
func (c *Certificates) OverTLS(t *testing.T, use func(t *testing.T, parameters string) error) {
	t.Helper()
	ca := "ca=" + url.QueryEscape(c.CA)
	client := "&cert=" + url.QueryEscape(c.ClientCert) + "&key=" + url.QueryEscape(c.ClientKey)
	other := NewCertificates(t)
	for name, test := range map[string]struct{ parameters, says string }{
		"all":                              {ca + client, ""},
		"no authority":                     {"tls=true" + client, "?ca="},
		"another authority":                {"ca=" + url.QueryEscape(other.CA) + client, "?ca="},
		"no certificate":                   {ca, "?cert="},
		"a certificate of somebody else's": {ca + "&cert=" + url.QueryEscape(other.ClientCert) + "&key=" + url.QueryEscape(other.ClientKey), "?cert="},
	} {
		t.Run(name, func(t *testing.T) {
			err := use(t, test.parameters)
			if told, ok := errors.AsType[*brokers.Error](err); ok {
				err = fmt.Errorf("%w; %s", err, told.Fix)
			}
			suite.ErrorIf(t, test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)), "it says %v, want %q", err, test.says)
		})
	}
}
