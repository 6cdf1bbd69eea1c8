package brokers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TLS is what the URL says about it: tls=true, ca=FILE (who signs the broker's
// certificate; without it, whom the system trusts), cert=FILE and key=FILE (who
// we are). It is nil without any of them, unless always is set.
func (a *Address) TLS(always bool) (*tls.Config, error) {
	on, err := a.Flag("tls")
	if err != nil {
		return nil, err
	}
	ca, cert, key := a.Param("ca"), a.Param("cert"), a.Param("key")
	if !always && !on && ca == "" && cert == "" && key == "" {
		return nil, nil //nolint:nilnil // nil is no TLS
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s has no certificate", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("cert, key: one is given without the other")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert, key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// TLSError says what to do about an error of TLS. It is nil if err is none.
func TLSError(err error) error {
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	_, named := errors.AsType[x509.HostnameError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	fix := ""
	switch {
	case err == nil:
	case untrusted:
		fix = "?ca=FILE names the authority that signed the server's certificate"
	case named:
		fix = "the server's certificate is for other names: write one of them in the URL"
	case unverified: // it is over, for example
		fix = "the server needs another certificate"
	case plain:
		fix = "the server speaks no TLS at this port"
	case strings.Contains(err.Error(), "remote error: tls: ") && strings.Contains(err.Error(), "certificate"):
		fix = "the server wants a certificate that it trusts: ?cert=FILE&key=FILE"
	}
	if fix == "" {
		return nil
	}
	return &Error{Kind: Denied, Err: err, Fix: fix}
}

// TLSHint is what else may be wrong with a connection that was ended: what a server says of
// a certificate may get lost. It is "" without TLS.
func TLSHint(c *tls.Config) string {
	if c == nil {
		return ""
	}
	return " If it wants a certificate: ?cert=FILE&key=FILE"
}
