package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// endsSoon is how long before its end a certificate gets a warning.
const endsSoon = 14 * 24 * time.Hour

const maxPEM = 1 << 20

// certificates checks all certificates that the settings name.
func (e *examination) certificates(context.Context) {
	for _, p := range e.pairs() {
		if p.cert != "" {
			e.certificate(p)
		}
		if p.ca != "" {
			e.authorities(p)
		}
	}
}

func (e *examination) certificate(p pair) {
	cert, err := regular.Read(p.cert, maxPEM)
	if err != nil {
		e.fault("certificates", "put the file there, or correct the setting", "%s.cert: %v", p.at, err)
		return
	}
	key, err := regular.Read(p.key, maxPEM)
	if err != nil {
		e.fault("certificates", "put the file there, or correct the setting", "%s.key: %v", p.at, err)
		return
	}
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		e.fault("certificates", "name a PEM certificate with its chain, and its key", "%s: %s and %s do not work together: %v", p.at, p.cert, p.key, err)
		return
	}
	e.term(p.at+".cert", p.cert, both.Leaf)
}

// authorities reads the authorities that verify workers' certificates.
func (e *examination) authorities(p pair) {
	text, err := regular.Read(p.ca, maxPEM)
	if err != nil {
		e.fault("certificates", "put the file there, or correct the setting", "%s.ca: %v", p.at, err)
		return
	}
	var latest *x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (latest == nil || c.NotAfter.After(latest.NotAfter)) {
			latest = c
		}
	}
	if latest == nil {
		e.fault("certificates", "name a PEM file with the authorities", "%s.ca: %s has no certificate", p.at, p.ca)
		return
	}
	e.term(p.at+".ca", p.ca, latest)
}

// term checks the validity period of a certificate.
func (e *examination) term(at, file string, c *x509.Certificate) {
	now := e.Machine.Now()
	const fix = "renew it; Bezoar reads the new file by itself"
	switch left := c.NotAfter.Sub(now); {
	case left <= 0:
		e.fault("certificates", fix, "%s: %s ended on %s", at, file, c.NotAfter.Format(time.DateOnly))
	case now.Before(c.NotBefore):
		e.fault("certificates", "correct the clock, or use another certificate", "%s: %s begins on %s", at, file, c.NotBefore.Format(time.DateOnly))
	case left <= endsSoon:
		e.warn("certificates", fix, "%s: %s ends in %s, on %s", at, file, days(left), c.NotAfter.Format(time.DateOnly))
	default:
		e.ok("certificates", "%s: %s is valid for %s", at, file, days(left))
	}
}

func days(d time.Duration) string {
	switch n := int(d / (24 * time.Hour)); n {
	case 0:
		return "less than a day"
	case 1:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", n)
	}
}
