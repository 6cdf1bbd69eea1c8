package sigv4_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

// codeOf is the code of a refusal, or "".
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var refusal *sigv4.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%v is no refusal", err)
	}
	return refusal.Code()
}

func newVerifier(t *testing.T, c sigv4.Config) *sigv4.Verifier {
	t.Helper()
	if c.Keys == nil {
		c.Keys = map[string]sigv4.Secret{exampleKey: exampleSecret, "OTHER": "another secret", "a/b": "a third"}
	}
	v, err := sigv4.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const form = "Content-Type: application/x-www-form-urlencoded"

func TestSignedRequestsVerify(t *testing.T) {
	v := newVerifier(t, sigv4.Config{Signed: []string{"x-bezoar-outcome"}})
	body := `{"QueueName":"ü"}`
	for _, tt := range []struct {
		name    string
		sign    func(s *signing)
		target  string
		headers []string
	}{
		{name: "JSON", target: "/", headers: []string{"Content-Type: application/x-amz-json-1.0", "X-Amz-Target: AmazonSQS.CreateQueue"}},
		{name: "Query", target: "/", headers: []string{form}},
		{name: "a queue's URL", target: "/000000000000/jobs", headers: []string{form}},
		{name: "an encoded path", target: "/000000000000/a%20b%2Fc"},
		{name: "a query", target: "/?Action=ListQueues&QueueNamePrefix=a%20b%2B%26%C3%BC&Version=2012-11-05"},
		{name: "one name that begins as another", target: "/?A=2&A-b=1"},
		{name: "another key", target: "/", sign: func(s *signing) { s.keyID, s.secret = "OTHER", "another secret" }},
		{name: "a key with a slash", target: "/", sign: func(s *signing) { s.keyID, s.secret = "a/b", "a third" }},
		{name: "another region", target: "/", sign: func(s *signing) { s.region = "mars-north-1" }},
		{name: "a Date header", target: "/", headers: []string{"Date: Sat, 31 Jan 2026 23:59:58 GMT"}},
		{name: "a Date header in the short form", target: "/", headers: []string{"Date: 20260131T235958Z"}},
		{name: "the body's hash in a header", target: "/", headers: []string{"X-Amz-Content-Sha256: " + hash(body)}},
		{name: "a header that need not be signed", target: "/", headers: []string{"User-Agent: x"}, sign: func(s *signing) { s.signed = []string{"host", "x-amz-date"} }},
		{name: "an outcome that is signed", target: "/", headers: []string{"X-Bezoar-Outcome: {}"}},
		{name: "presigned", target: "/?Action=ListQueues", sign: func(s *signing) { s.expires = "1" }},
		{name: "presigned for a week", target: "/000000000000/q", sign: func(s *signing) { s.expires = "604800" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := client()
			if tt.sign != nil {
				tt.sign(&s)
			}
			r := s.sign(t, request(t, "POST", tt.target, body, tt.headers...), body)
			for range 2 { // with the signing key derived, and with it kept
				if err := v.Verify(r, []byte(body), s.at); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	now := client().at
	header := func(name string, change func(string) string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, change(r.Header.Get(name))) }
	}
	replace := func(old, with string) func(*http.Request) {
		return header("Authorization", func(s string) string { return strings.Replace(s, old, with, 1) })
	}
	query := func(old, with string) func(*http.Request) {
		return func(r *http.Request) { r.RequestURI = strings.Replace(r.RequestURI, old, with, 1) }
	}
	presign := func(s *signing) { s.expires = "60" }
	for _, tt := range []struct {
		name   string
		sign   func(s *signing)
		header string // of the request, before it is signed
		change func(r *http.Request)
		code   string
		says   string
	}{
		{name: "not signed", change: func(r *http.Request) { r.Header.Del("Authorization") }, code: "MissingAuthenticationToken", says: "not signed"},
		{name: "another scheme", change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, code: "IncompleteSignature", says: "AWS4-HMAC-SHA256"},
		{name: "an asymmetric signature", change: replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), code: "IncompleteSignature", says: "AWS4-HMAC-SHA256"},
		{name: "two headers", change: func(r *http.Request) { r.Header.Add("Authorization", "x") }, code: "IncompleteSignature", says: "2 Authorization"},
		{name: "header and query", change: func(r *http.Request) { r.RequestURI += "?X-Amz-Signature=1" }, code: "IncompleteSignature", says: "twice"},
		{name: "a field less", change: replace("SignedHeaders=", "Unsigned="), code: "IncompleteSignature", says: "Unsigned"},
		{name: "no credential", change: func(r *http.Request) {
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=1")
		}, code: "IncompleteSignature", says: "no Credential"},
		{name: "a field twice", change: header("Authorization", func(s string) string { return s + ", Signature=0" }), code: "IncompleteSignature", says: "Signature twice"},
		{name: "a field without a value", change: header("Authorization", func(s string) string { return s[:strings.Index(s, "Signature=")] + "Signature=" }), code: "IncompleteSignature", says: "no value"},
		{name: "an endless header", change: header("Authorization", func(s string) string { return s + strings.Repeat(",", 9000) }), code: "IncompleteSignature", says: "at most"},
		{name: "four parts", change: replace("/sqs/", "/"), code: "IncompleteSignature", says: "4 parts"},
		{name: "another terminator", sign: func(s *signing) { s.end = "aws5_request" }, code: "IncompleteSignature", says: "aws5_request"},
		{name: "no key id", sign: func(s *signing) { s.keyID = "" }, code: "IncompleteSignature", says: "access key id"},
		{name: "no region", sign: func(s *signing) { s.region = "" }, code: "IncompleteSignature", says: "region"},
		{name: "an endless region", sign: func(s *signing) { s.region = strings.Repeat("a", 65) }, code: "IncompleteSignature", says: "region"},
		{name: "another service", sign: func(s *signing) { s.service = "sns" }, code: "SignatureDoesNotMatch", says: "sns"},
		{name: "another day", sign: func(s *signing) { s.day = "20260130" }, code: "SignatureDoesNotMatch", says: "20260130"},
		{name: "upper-case signed header", sign: func(s *signing) { s.signed = []string{"Host", "x-amz-date"} }, code: "IncompleteSignature", says: "lower case"},
		{name: "unsorted signed headers", sign: func(s *signing) { s.signed = []string{"x-amz-date", "host"} }, code: "IncompleteSignature", says: "order"},
		{name: "one signed header twice", sign: func(s *signing) { s.signed = []string{"host", "host", "x-amz-date"} }, code: "IncompleteSignature", says: "twice"},
		{name: "too many signed headers", change: replace("SignedHeaders=", "SignedHeaders="+strings.Repeat("a;", 128)), code: "IncompleteSignature", says: "at most 128"},
		{name: "host not signed", sign: func(s *signing) { s.signed = []string{"x-amz-date"} }, code: "IncompleteSignature", says: "host"},
		{name: "date not signed", sign: func(s *signing) { s.signed = []string{"host"} }, code: "IncompleteSignature", says: "x-amz-date"},
		{name: "Date not signed", header: "Date: Sat, 31 Jan 2026 23:59:58 GMT", sign: func(s *signing) { s.signed = []string{"host"} }, code: "IncompleteSignature", says: "date"},
		{name: "operation not signed", header: "X-Amz-Target: AmazonSQS.DeleteQueue", sign: func(s *signing) { s.signed = []string{"host", "x-amz-date"} }, code: "IncompleteSignature", says: "x-amz-target"},
		{name: "operation added", change: func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue") }, code: "IncompleteSignature", says: "x-amz-target"},
		{name: "operation removed", header: "X-Amz-Target: AmazonSQS.ListQueues", change: func(r *http.Request) { r.Header.Del("X-Amz-Target") }, code: "SignatureDoesNotMatch", says: "did not arrive"},
		{name: "outcome added", change: func(r *http.Request) { r.Header.Set("X-Bezoar-Outcome", "{}") }, code: "IncompleteSignature", says: "x-bezoar-outcome"},
		{name: "hash not signed", header: "X-Amz-Content-Sha256: " + hash(""), sign: func(s *signing) { s.signed = []string{"host", "x-amz-date"} }, code: "IncompleteSignature", says: "x-amz-content-sha256"},
		{name: "hash of another body", header: "X-Amz-Content-Sha256: " + hash("x"), sign: func(s *signing) { s.payload = hash("x") }, code: "SignatureDoesNotMatch", says: "body"},
		{name: "unsigned body", header: "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD", sign: func(s *signing) { s.payload = "UNSIGNED-PAYLOAD" }, code: "InvalidContentSHA256", says: "not signed"},
		{name: "streamed body", header: "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", sign: func(s *signing) { s.payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" }, code: "InvalidContentSHA256", says: "not signed"},
		{name: "session token", header: "X-Amz-Security-Token: abc", code: "InvalidClientTokenId", says: "session token"},
		{name: "unknown key", sign: func(s *signing) { s.keyID = "NOBODY" }, code: "InvalidClientTokenId", says: "NOBODY"},
		{name: "wrong secret", sign: func(s *signing) { s.secret += "x" }, code: "SignatureDoesNotMatch", says: "another secret"},
		{name: "secret of another key", sign: func(s *signing) { s.keyID = "OTHER" }, code: "SignatureDoesNotMatch", says: "OTHER"},
		{name: "no signature", change: header("Authorization", func(s string) string { return s[:len(s)-1] }), code: "IncompleteSignature", says: "64"},
		{name: "upper-case signature", change: header("Authorization", func(s string) string { return s[:len(s)-64] + strings.Repeat("A", 64) }), code: "IncompleteSignature", says: "64"},
		{name: "no date", change: func(r *http.Request) { r.Header.Del("X-Amz-Date") }, code: "IncompleteSignature", says: "0 dates"},
		{name: "two dates", change: func(r *http.Request) { r.Header.Add("X-Amz-Date", "20260131T235958Z") }, code: "IncompleteSignature", says: "2 dates"},
		{name: "not a date", change: header("X-Amz-Date", func(string) string { return "yesterday" }), code: "IncompleteSignature", says: "yesterday"},
		{name: "old", sign: func(s *signing) { s.at = now.Add(-15*time.Minute - time.Second) }, code: "RequestExpired", says: "15m1s old"},
		{name: "from the future", sign: func(s *signing) { s.at = now.Add(15*time.Minute + time.Second) }, code: "RequestExpired", says: "15m1s in the future"},
		{name: "an escape cut off", change: func(r *http.Request) { r.RequestURI += "?a=%2" }, code: "InvalidQueryParameter", says: "encoded"},
		{name: "an escape that is none", change: func(r *http.Request) { r.RequestURI += "?a%zz=" }, code: "InvalidQueryParameter", says: "encoded"},
		{name: "a semicolon", change: func(r *http.Request) { r.RequestURI += "?a;b" }, code: "InvalidQueryParameter", says: "encoded"},
		{name: "too many parameters", change: func(r *http.Request) { r.RequestURI += "?" + strings.Repeat("&", 10_000) }, code: "InvalidQueryParameter", says: "at most"},

		{name: "presigned, over", sign: func(s *signing) { s.expires, s.at = "60", now.Add(-61*time.Second) }, code: "RequestExpired", says: "good for 1m0s"},
		{name: "presigned, from the future", sign: func(s *signing) { s.expires, s.at = "60", now.Add(16*time.Minute) }, code: "RequestExpired", says: "future"},
		{name: "presigned for more than a week", sign: func(s *signing) { s.expires = "604801" }, code: "InvalidQueryParameter", says: "a week"},
		{name: "presigned for no time", sign: func(s *signing) { s.expires = "0" }, code: "InvalidQueryParameter", says: "604800"},
		{name: "presigned for less", sign: func(s *signing) { s.expires = "-1" }, code: "InvalidQueryParameter", says: "604800"},
		{name: "presigned, longer than signed", sign: presign, change: query("Expires=60", "Expires=99"), code: "SignatureDoesNotMatch", says: "changed"},
		{name: "presigned, wrong secret", sign: func(s *signing) { s.expires, s.secret = "60", "x" }, code: "SignatureDoesNotMatch", says: "another secret"},
		{name: "presigned, unknown key", sign: func(s *signing) { s.expires, s.keyID = "60", "NOBODY" }, code: "InvalidClientTokenId", says: "NOBODY"},
		{name: "presigned, a parameter less", sign: presign, change: query("X-Amz-Expires=60&", ""), code: "IncompleteSignature", says: "X-Amz-Expires"},
		{name: "presigned, a parameter twice", sign: presign, change: func(r *http.Request) { r.RequestURI += "&X-Amz-Expires=60" }, code: "InvalidQueryParameter", says: "twice"},
		{name: "presigned by another algorithm", sign: presign, change: query("AWS4-HMAC-SHA256", "AWS4-HMAC-MD5"), code: "IncompleteSignature", says: "HMAC-MD5"},
		{name: "presigned, not a date", sign: presign, change: query("X-Amz-Date=2", "X-Amz-Date=x"), code: "IncompleteSignature", says: "not a date"},
		{name: "presigned, host not signed", sign: func(s *signing) { s.expires, s.signed = "60", []string{"x-a"} }, header: "X-A: 1", code: "IncompleteSignature", says: "host"},
		{name: "presigned, operation added", sign: presign, change: func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue") }, code: "IncompleteSignature", says: "x-amz-target"},
		{name: "presigned, another queue", sign: presign, change: query("/?", "/000000000000/other?"), code: "SignatureDoesNotMatch", says: "changed"},
		{name: "presigned with a session token", sign: presign, change: func(r *http.Request) { r.RequestURI += "&X-Amz-Security-Token=x" }, code: "InvalidClientTokenId", says: "session token"},
		{name: "presigned without its body", sign: presign, change: func(r *http.Request) { r.RequestURI += "&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD" }, code: "InvalidContentSHA256", says: "not signed"},
		{name: "presigned, a signature cut off", sign: presign, change: func(r *http.Request) { r.RequestURI = r.RequestURI[:len(r.RequestURI)-1] }, code: "IncompleteSignature", says: "64"},
		{name: "presigned with half a credential", sign: presign, change: query("%2Fsqs%2F", "%2F"), code: "IncompleteSignature", says: "4 parts"},
		{name: "presigned, unsorted signed headers", sign: func(s *signing) { s.expires, s.signed = "60", []string{"host", "a"} }, header: "A: 1", code: "IncompleteSignature", says: "order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVerifier(t, sigv4.Config{Signed: []string{"X-Bezoar-Outcome"}})
			s := client()
			if tt.sign != nil {
				tt.sign(&s)
			}
			r := request(t, "GET", "/", "")
			if name, value, ok := strings.Cut(tt.header, ": "); ok {
				r.Header.Set(name, value)
			}
			s.sign(t, r, "")
			if tt.change != nil {
				tt.change(r)
			}
			err := v.Verify(r, nil, now)
			if code := codeOf(t, err); code != tt.code {
				t.Fatalf("code %q, want %q: %v", code, tt.code, err)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
			if strings.Contains(err.Error(), exampleSecret) {
				t.Errorf("%v contains the secret", err)
			}
		})
	}
}

// An attacker who is told the signature that was expected needs no secret.
func TestARefusalDoesNotTellTheRightSignature(t *testing.T) {
	v := newVerifier(t, sigv4.Config{})
	s := client()
	r := s.sign(t, request(t, "GET", "/", ""), "")
	right := r.Header.Get("Authorization")
	right = right[len(right)-64:]
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), right, strings.Repeat("0", 64), 1))
	err := v.Verify(r, nil, s.at)
	if codeOf(t, err) != sigv4.CodeMismatch || strings.Contains(err.Error(), right) {
		t.Error(err)
	}
}

func TestStatuses(t *testing.T) {
	v := newVerifier(t, sigv4.Config{MaxBody: 10})
	s := client()
	unsigned := request(t, "GET", "/", "")
	expired := s
	expired.at = s.at.Add(-time.Hour)
	unknown := s
	unknown.keyID = "NOBODY"
	for _, tt := range []struct {
		r      *http.Request
		body   string
		status int
		code   string
	}{
		{unsigned, "", 403, sigv4.CodeMissingToken},
		{s.sign(t, request(t, "GET", "/", "x"), "y"), "x", 403, sigv4.CodeMismatch},
		{unknown.sign(t, request(t, "GET", "/", ""), ""), "", 403, sigv4.CodeUnknownKey},
		{expired.sign(t, request(t, "GET", "/", ""), ""), "", 400, sigv4.CodeExpired},
		{s.sign(t, request(t, "GET", "/", ""), ""), "eleven bytes", 413, sigv4.CodeBodyTooLarge},
	} {
		err := v.Verify(tt.r, []byte(tt.body), s.at)
		var refusal *sigv4.Error
		if !errors.As(err, &refusal) || refusal.Status() != tt.status || refusal.Code() != tt.code || refusal.Message() == "" {
			t.Errorf("%v, want status %d and %s", err, tt.status, tt.code)
		}
	}
}

func TestTheClocksEdges(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Minute} {
		v := newVerifier(t, sigv4.Config{MaxSkew: skew})
		if skew == 0 {
			skew = sigv4.DefaultMaxSkew
		}
		s := client()
		r := s.sign(t, request(t, "GET", "/", ""), "")
		s.expires = "3600"
		long := s.sign(t, request(t, "GET", "/", ""), "")
		for _, tt := range []struct {
			r    *http.Request
			now  time.Duration
			good bool
		}{
			{r, -skew, true},
			{r, -skew - 1, false},
			{r, skew, true},
			{r, skew + 1, false},
			{long, -skew, true},
			{long, -skew - 1, false},
			{long, time.Hour, true},
			{long, time.Hour + 1, false},
		} {
			if err := v.Verify(tt.r, nil, s.at.Add(tt.now)); (err == nil) != tt.good {
				t.Errorf("skew %v, now %v: %v", skew, tt.now, err)
			}
		}
	}
}

// Many goroutines, and more regions than signing keys are kept.
func TestManyAtOnce(t *testing.T) {
	v := newVerifier(t, sigv4.Config{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 700 {
				s := client()
				s.region = strings.Repeat("r", 1+i) + time.Duration(j).String()
				if err := v.Verify(s.sign(t, request(t, "GET", "/", ""), ""), nil, s.at); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestClaimOf(t *testing.T) {
	s := client()
	r := s.sign(t, request(t, "GET", "/", ""), "")
	claim, err := sigv4.ClaimOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if claim.KeyID != exampleKey || claim.Region != s.region || claim.Service != "sqs" || !claim.Date.Equal(s.at) || claim.Presigned() {
		t.Errorf("%+v", claim)
	}
	s.expires = "60"
	claim, err = sigv4.ClaimOf(s.sign(t, request(t, "GET", "/", ""), ""))
	if err != nil || !claim.Presigned() || claim.Expires != time.Minute {
		t.Errorf("%+v, %v", claim, err)
	}
	if _, err := sigv4.ClaimOf(request(t, "GET", "/", "")); codeOf(t, err) != sigv4.CodeMissingToken {
		t.Error(err)
	}
	if _, err := sigv4.ClaimOf(request(t, "GET", "/?%zz", "")); codeOf(t, err) != sigv4.CodeInvalidQuery {
		t.Error(err)
	}
}
