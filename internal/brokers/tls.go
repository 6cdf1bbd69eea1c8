package brokers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
)

// TLS returns the TLS settings of the URL: tls=true, ca=FILE (the authority of the broker's
// certificate; default: the system's authorities), cert=FILE and key=FILE (the client
// certificate). It returns nil if none of them is set, unless always is set.
func (a *Address) TLS(always bool) *tls.Config {
	on := a.Flag("tls", false)
	ca, cert, key := a.Param("ca"), a.Param("cert"), a.Param("key")
	if !always && !on && ca == "" && cert == "" && key == "" {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			a.Fail("ca: %w", err)
			return nil
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			a.Fail("ca: %s contains no certificate", ca)
		}
	}
	if (cert == "") != (key == "") {
		a.Fail("cert, key: set both or none")
	} else if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			a.Fail("cert, key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// TLSError adds advice to a TLS error. It returns nil for other errors.
func TLSError(err error) error {
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	_, named := errors.AsType[x509.HostnameError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	fix := ""
	switch {
	case err == nil:
	case untrusted:
		fix = "?ca=FILE sets the authority that signed the server's certificate"
	case named:
		fix = "the server's certificate is for other host names: use one of them in the URL"
	case unverified: // expired, for example
		fix = "the server needs another certificate"
	case plain:
		fix = "the server does not use TLS on this port"
	case strings.Contains(err.Error(), "remote error: tls: ") && strings.Contains(err.Error(), "certificate"):
		fix = "the server requires a client certificate that it trusts: ?cert=FILE&key=FILE"
	}
	if fix == "" {
		return nil
	}
	return &Error{Kind: Denied, Err: err, Fix: fix}
}

// TLSHint returns an additional hint for a closed connection: the server's error about the
// client certificate may be lost. It is empty without TLS.
func TLSHint(c *tls.Config) string {
	if c == nil {
		return ""
	}
	return " If it requires a client certificate, add ?cert=FILE&key=FILE"
}
