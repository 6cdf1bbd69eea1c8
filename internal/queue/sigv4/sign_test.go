package sigv4_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"testing"
	"time"
)

// signing is a client that signs by the book, and can be told to err.
type signing struct {
	keyID, secret string
	day           string // of the scope; default that of at
	region        string
	service       string
	end           string // of the scope
	at            time.Time
	expires       string   // presigns
	signed        []string // default: host and every header of the request
	payload       string   // default: the body's hash
}

func client() signing {
	return signing{
		keyID: exampleKey, secret: exampleSecret, region: "eu-central-1", service: "sqs", end: "aws4_request",
		at: time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC),
	}
}

// request makes a request as it arrives at a server.
func request(t *testing.T, method, target, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:9324"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.RequestURI = target
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// sign signs r in its header, or presigns it. The query must be canonical but for
// its order.
func (s signing) sign(t testing.TB, r *http.Request, body string) *http.Request {
	t.Helper()
	date := s.at.UTC().Format("20060102T150405Z")
	if s.day == "" {
		s.day = date[:8]
	}
	scope := strings.Join([]string{s.day, s.region, s.service, s.end}, "/")
	if s.expires == "" && r.Header.Get("Date") == "" {
		r.Header.Set("X-Amz-Date", date)
	}
	signed := s.signed
	if signed == nil {
		signed = []string{"host"}
		for name := range r.Header {
			signed = append(signed, strings.ToLower(name))
		}
		sort.Strings(signed)
	}
	if s.expires != "" {
		q := url.Values{
			"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Credential": {s.keyID + "/" + scope}, "X-Amz-Date": {date},
			"X-Amz-Expires": {s.expires}, "X-Amz-SignedHeaders": {strings.Join(signed, ";")},
		}
		sign := "?"
		if strings.Contains(r.RequestURI, "?") {
			sign = "&"
		}
		r.RequestURI += sign + q.Encode()
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	params := strings.Split(query, "&")
	sort.Slice(params, func(i, j int) bool { // by name, then by value: = must not take part
		return strings.Replace(params[i], "=", "\x00", 1) < strings.Replace(params[j], "=", "\x00", 1)
	})
	var canonical bytes.Buffer
	canonical.WriteString(r.Method + "\n" + strings.ReplaceAll(path, "%", "%25") + "\n" + strings.Join(params, "&") + "\n")
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		canonical.WriteString(name + ":" + value + "\n")
	}
	payload := s.payload
	if payload == "" {
		payload = hash(body)
	}
	canonical.WriteString("\n" + strings.Join(signed, ";") + "\n" + payload)
	key := sum(sum(sum(sum([]byte("AWS4"+s.secret), s.day), s.region), s.service), s.end)
	signature := hex.EncodeToString(sum(key, strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hash(canonical.String())}, "\n")))
	if s.expires != "" {
		r.RequestURI += "&X-Amz-Signature=" + signature
		return r
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.keyID+"/"+scope+", SignedHeaders="+strings.Join(signed, ";")+", Signature="+signature)
	return r
}

func hash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func sum(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(s))
	return h.Sum(nil)
}
