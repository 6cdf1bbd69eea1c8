package sigv4

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a claim.
const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	isoDate    = "20060102T150405Z"

	maxAuthorization = 8 << 10
	maxSignedHeaders = 128
	maxRegion        = 64
	maxExpires       = 7 * 24 * time.Hour
)

// Claim is a request's description of its signature. It is not verified.
type Claim struct {
	KeyID   string
	Region  string
	Service string
	Date    time.Time     // time of signing
	Expires time.Duration // how long a presigned request is valid; 0 in the header form
	Signed  []string      // names of the signed headers, in lower case, sorted

	day       string // of the scope
	signature string // 64 hex digits
}

// Presigned reports whether the signature is in the query.
func (c *Claim) Presigned() bool { return c.Expires > 0 }

// scope returns the credential scope without the key's id.
func (c *Claim) scope() string {
	return c.day + "/" + c.Region + "/" + c.Service + "/" + terminator
}

// ClaimOf reads the claim of r without verifying it. Every error is an *Error.
func ClaimOf(r *http.Request) (*Claim, error) {
	header := r.Header.Values("Authorization")
	_, rawQuery := target(r)
	query, err := parseQuery(rawQuery)
	if err != nil {
		return nil, err
	}
	return claimOf(r, header, query)
}

func claimOf(r *http.Request, header []string, query []param) (*Claim, error) {
	presigned := slices.ContainsFunc(query, func(p param) bool {
		return p.name == "X-Amz-Algorithm" || p.name == "X-Amz-Credential" || p.name == "X-Amz-Signature"
	})
	switch {
	case len(header) == 0 && !presigned:
		return nil, refuse(CodeMissingToken, "the request is not signed: it has neither an Authorization header nor X-Amz-Signature in its query; give the client an access key and its secret")
	case len(header) > 0 && presigned:
		return nil, refuse(CodeIncomplete, "the request is signed twice, in the Authorization header and in the query; send one of them")
	case len(header) > 1:
		return nil, refuse(CodeIncomplete, "the request has %d Authorization headers, want one", len(header))
	case presigned:
		return fromQuery(query)
	}
	return fromHeader(r, header[0])
}

// fromHeader reads the form
//
//	AWS4-HMAC-SHA256 Credential=ID/DAY/REGION/SERVICE/aws4_request, SignedHeaders=a;b, Signature=HEX
func fromHeader(r *http.Request, value string) (*Claim, error) {
	fields, err := parseAuthorization(value)
	if err != nil {
		return nil, err
	}
	c := &Claim{}
	if err := c.credential(fields["Credential"]); err != nil {
		return nil, err
	}
	if err := c.signedHeaders(fields["SignedHeaders"]); err != nil {
		return nil, err
	}
	if err := c.setSignature(fields["Signature"]); err != nil {
		return nil, err
	}
	name, date, err := dateOf(r.Header)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(c.Signed, name) {
		return nil, refuse(CodeIncomplete, "the header %s, which dates the request, is not among the signed headers", name)
	}
	return c, c.setDate(date)
}

// parseAuthorization splits an Authorization header into its three fields.
func parseAuthorization(value string) (map[string]string, error) {
	if len(value) > maxAuthorization {
		return nil, refuse(CodeIncomplete, "the Authorization header has %d bytes, at most %d", len(value), maxAuthorization)
	}
	scheme, rest, _ := strings.Cut(strings.Trim(value, " "), " ")
	if scheme != algorithm {
		return nil, refuse(CodeIncomplete, "the Authorization header begins with %s; only %s is known here", shown(scheme), algorithm)
	}
	fields := make(map[string]string, 3)
	for field := range strings.SplitSeq(rest, ",") {
		name, v, ok := strings.Cut(strings.Trim(field, " "), "=")
		switch {
		case name != "Credential" && name != "SignedHeaders" && name != "Signature":
			return nil, refuse(CodeIncomplete, "the Authorization header has a field %s; want Credential, SignedHeaders and Signature", shown(name))
		case !ok || v == "":
			return nil, refuse(CodeIncomplete, "the Authorization header's %s has no value", name)
		case fields[name] != "":
			return nil, refuse(CodeIncomplete, "the Authorization header has %s twice", name)
		}
		fields[name] = v
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[name] == "" {
			return nil, refuse(CodeIncomplete, "the Authorization header has no %s", name)
		}
	}
	return fields, nil
}

// dateOf returns the name and value of the header with the request's date.
func dateOf(h http.Header) (name string, date time.Time, err error) {
	name = "x-amz-date"
	values := h.Values("X-Amz-Date")
	if len(values) == 0 {
		name, values = "date", h.Values("Date")
	}
	if len(values) != 1 {
		return "", date, refuse(CodeIncomplete, "the request has %d dates, want one X-Amz-Date (or Date) header", len(values))
	}
	value := strings.Trim(values[0], " ")
	if date, err = time.Parse(isoDate, value); err == nil {
		return name, date, nil
	}
	if name == "date" {
		if date, err = http.ParseTime(value); err == nil {
			return name, date, nil
		}
	}
	return "", date, refuse(CodeIncomplete, "the %s %s is not a date such as 20060102T150405Z", name, shown(value))
}

// fromQuery reads the parameters of a presigned request.
func fromQuery(query []param) (*Claim, error) {
	values := make(map[string]string, 8)
	for _, p := range query {
		if !strings.HasPrefix(p.name, "X-Amz-") {
			continue
		}
		if _, twice := values[p.name]; twice {
			return nil, refuse(CodeInvalidQuery, "the query has %s twice", shown(p.name))
		}
		values[p.name] = p.value
	}
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"} {
		if values[name] == "" {
			return nil, refuse(CodeIncomplete, "the query has no %s", name)
		}
	}
	if a := values["X-Amz-Algorithm"]; a != algorithm {
		return nil, refuse(CodeIncomplete, "X-Amz-Algorithm is %s; only %s is known here", shown(a), algorithm)
	}
	c := &Claim{}
	if err := c.credential(values["X-Amz-Credential"]); err != nil {
		return nil, err
	}
	if err := c.signedHeaders(values["X-Amz-SignedHeaders"]); err != nil {
		return nil, err
	}
	if err := c.setSignature(values["X-Amz-Signature"]); err != nil {
		return nil, err
	}
	date, err := time.Parse(isoDate, values["X-Amz-Date"])
	if err != nil {
		return nil, refuse(CodeIncomplete, "X-Amz-Date is %s, not a date such as 20060102T150405Z", shown(values["X-Amz-Date"]))
	}
	most := uint64(maxExpires / time.Second)
	seconds, err := strconv.ParseUint(values["X-Amz-Expires"], 10, 32)
	if err != nil || seconds == 0 || seconds > most {
		return nil, refuse(CodeInvalidQuery, "X-Amz-Expires is %s; want 1 to %d seconds, which is a week", shown(values["X-Amz-Expires"]), most)
	}
	c.Expires = time.Duration(seconds) * time.Second
	return c, c.setDate(date)
}

// credential reads ID/DAY/REGION/SERVICE/aws4_request.
func (c *Claim) credential(s string) error {
	parts := strings.Split(s, "/")
	scope := len(parts) - 4 // a key's id may contain slashes
	if scope < 1 {
		return refuse(CodeIncomplete, "the credential has %d parts, want KEY/DAY/REGION/SERVICE/%s", len(parts), terminator)
	}
	c.KeyID = strings.Join(parts[:scope], "/")
	c.day, c.Region, c.Service = parts[scope], parts[scope+1], parts[scope+2]
	if end := parts[scope+3]; end != terminator {
		return refuse(CodeIncomplete, "the credential's scope ends with %s, want %s", shown(end), terminator)
	}
	if !isKeyID(c.KeyID) {
		return refuse(CodeIncomplete, "the credential's access key id %s is not one", shown(c.KeyID))
	}
	if !isWord(c.Region) || len(c.Region) > maxRegion {
		return refuse(CodeIncomplete, "the credential's region %s is not one", shown(c.Region))
	}
	return nil
}

// signedHeaders reads a;b;c.
func (c *Claim) signedHeaders(s string) error {
	if n := strings.Count(s, ";") + 1; n > maxSignedHeaders {
		return refuse(CodeIncomplete, "%d headers are signed, at most %d", n, maxSignedHeaders)
	}
	c.Signed = strings.Split(s, ";")
	for i, name := range c.Signed {
		if !isHeader(name) {
			return refuse(CodeIncomplete, "the signed header %s is not a header's name in lower case", shown(name))
		}
		if i > 0 && name <= c.Signed[i-1] {
			return refuse(CodeIncomplete, "the signed header %s is not in alphabetical order, or there twice", shown(name))
		}
	}
	return nil
}

func (c *Claim) setSignature(s string) error {
	ok := len(s) == 64
	for i := 0; ok && i < len(s); i++ {
		ok = '0' <= s[i] && s[i] <= '9' || 'a' <= s[i] && s[i] <= 'f'
	}
	if !ok {
		return refuse(CodeIncomplete, "the signature is not 64 hexadecimal digits")
	}
	c.signature = s
	return nil
}

// setDate also checks that the scope has the same date.
func (c *Claim) setDate(date time.Time) error {
	c.Date = date.UTC()
	if day := c.Date.Format("20060102"); day != c.day {
		return refuse(CodeMismatch, "the credential's scope is for day %s, the request's date is %s", shown(c.day), day)
	}
	return nil
}
