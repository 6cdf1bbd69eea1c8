package sigv4

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Verifier verifies requests. It is safe for concurrent use. To change keys, create another one.
type Verifier struct {
	cfg     Config
	nobody  Secret // used in place of an unknown key's secret
	derived derived
}

// New returns a verifier, or an error with every fault of c.
func New(c Config) (*Verifier, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("verify signatures: %w", err)
	}
	return &Verifier{cfg: c.withDefaults(), nobody: Secret(rand.Text())}, nil
}

// String shows the configuration, without secrets.
func (v *Verifier) String() string { return v.cfg.String() }

// Format writes what String returns, for every verb: otherwise fmt would print unexported fields unmasked.
func (v *Verifier) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// LogValue returns what String returns.
func (v *Verifier) LogValue() slog.Value { return v.cfg.LogValue() }

// Verify returns nil if r, with the body read from it, is signed by a known key and in time. Every error is an *Error. r
// must be as the server received it: code that changes its URL must keep RequestURI.
func (v *Verifier) Verify(r *http.Request, body []byte, now time.Time) error {
	if len(body) > v.cfg.MaxBody {
		return refuse(CodeBodyTooLarge, "the body has %d bytes, at most %d", len(body), v.cfg.MaxBody)
	}
	path, rawQuery := target(r)
	query, err := parseQuery(rawQuery)
	if err != nil {
		return err
	}
	claim, err := claimOf(r, r.Header.Values("Authorization"), query)
	if err != nil {
		return err
	}
	if err := v.covers(claim, r.Header, query); err != nil {
		return err
	}
	if err := v.inTime(claim, now); err != nil {
		return err
	}
	hash, err := payloadHash(r.Header, query, body)
	if err != nil {
		return err
	}
	headers, err := canonicalHeaders(r, claim.Signed)
	if err != nil {
		return err
	}
	canonical := strings.Join([]string{
		r.Method, canonicalPath(path), canonicalQuery(query), headers, strings.Join(claim.Signed, ";"), hash,
	}, "\n")
	return v.compare(claim, canonical, r.Host)
}

// covers checks the claim's service, and that everything required is signed.
func (v *Verifier) covers(c *Claim, h http.Header, query []param) error {
	if c.Service != v.cfg.Service {
		return refuse(CodeMismatch, "the request is signed for the service %s, not for %s", shown(c.Service), v.cfg.Service)
	}
	if !slices.Contains(c.Signed, "host") {
		return refuse(CodeIncomplete, "the header host is not among the signed headers")
	}
	token := h.Values("X-Amz-Security-Token")
	if len(token) > 0 || slices.ContainsFunc(query, func(p param) bool { return p.name == "X-Amz-Security-Token" }) {
		return refuse(CodeUnknownKey, "the request has a session token, and there are no temporary credentials here; unset AWS_SESSION_TOKEN and use an access key alone")
	}
	for name := range h {
		lower := strings.ToLower(name)
		decides := strings.HasPrefix(lower, "x-amz-") || slices.Contains(v.cfg.Signed, name)
		if _, signed := slices.BinarySearch(c.Signed, lower); decides && !signed {
			return refuse(CodeIncomplete, "the header %s is not among the signed headers, and it decides what the request does", shown(lower))
		}
	}
	return nil
}

// inTime limits how long a request can be replayed.
func (v *Verifier) inTime(c *Claim, now time.Time) error {
	now = now.UTC()
	if early := c.Date.Sub(now); early > v.cfg.MaxSkew {
		return refuse(CodeExpired, "the request is dated %s and it is %s here: %v in the future, at most %v; set the client's clock",
			c.Date.Format(isoDate), now.Format(isoDate), early.Round(time.Second), v.cfg.MaxSkew)
	}
	good := v.cfg.MaxSkew
	if c.Presigned() {
		good = c.Expires
	}
	if age := now.Sub(c.Date); age > good {
		return refuse(CodeExpired, "the request is dated %s and it is %s here: %v old, good for %v; sign it anew, or set the client's clock",
			c.Date.Format(isoDate), now.Format(isoDate), age.Round(time.Second), good)
	}
	return nil
}

// payloadHash returns the hash of the received body. It refuses a request that declares another hash.
func payloadHash(h http.Header, query []param, body []byte) (string, error) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	says := slices.Clone(h.Values("X-Amz-Content-Sha256"))
	for _, p := range query {
		if p.name == "X-Amz-Content-Sha256" {
			says = append(says, p.value)
		}
	}
	for _, said := range says {
		said = strings.Trim(said, " ")
		if strings.HasPrefix(said, "UNSIGNED-") || strings.HasPrefix(said, "STREAMING-") {
			return "", refuse(CodeUnsignedBody, "the body is not signed (X-Amz-Content-Sha256: %s); sign it", shown(said))
		}
		if said != hash {
			return "", refuse(CodeMismatch, "the body that arrived (%d bytes) is not the one that X-Amz-Content-Sha256 speaks of", len(body))
		}
	}
	return hash, nil
}

// compare takes the same time for a known and an unknown key.
func (v *Verifier) compare(c *Claim, canonical, host string) error {
	secret, known := v.cfg.Keys[c.KeyID]
	id := derivedID{c.KeyID, c.day, c.Region}
	if !known {
		secret, id.keyID = v.nobody, ""
	}
	key, kept := v.derived.get(id)
	if !kept {
		key = derive(secret, c.day, c.Region, c.Service)
	}
	sum := sha256.Sum256([]byte(canonical))
	hash := hex.EncodeToString(sum[:])
	text := algorithm + "\n" + c.Date.Format(isoDate) + "\n" + c.scope() + "\n" + hash
	want := hex.EncodeToString(mac(key[:], text))
	same := subtle.ConstantTimeCompare([]byte(want), []byte(c.signature)) == 1

	switch {
	case !known:
		return refuse(CodeUnknownKey, "there is no access key %s here", shown(c.KeyID))
	case !same:
		return refuse(CodeMismatch, "the request was signed with another secret than that of the access key %s, or was changed on its way. "+
			"It arrived for Host %s; a proxy that changes the Host or the path breaks the signature. The canonical request here has the SHA-256 %s; compare it with the client's",
			shown(c.KeyID), shown(host), hash)
	}
	if !kept {
		v.derived.add(id, key)
		// An unknown key must take as long as a known one.
		v.derived.add(derivedID{"", c.day, c.Region}, derive(v.nobody, c.day, c.Region, c.Service))
	}
	return nil
}
