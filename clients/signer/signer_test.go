package signer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

// run is one request that AWS's signer signed, as the server received it.
type run struct {
	req  *http.Request
	body []byte
	key  string
	now  time.Time
}

func verifier(t testing.TB) *sigv4.Verifier {
	t.Helper()
	v, err := sigv4.New(sigv4.Config{Keys: map[string]sigv4.Secret{"AKIDONE": "one/secret+", "AKIDTWO": "two"}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// text returns up to n characters, also those that encodings stumble over.
func text(r *rand.Rand, n int) string {
	const odd = "aZ09-_.~ !\"#$%&'()*+,/:<=>?@[\\]^`{|}ü漢𝒳"
	all := []rune(odd)
	out := make([]rune, r.IntN(n+1))
	for i := range out {
		out[i] = all[r.IntN(len(all))]
	}
	return string(out)
}

// segments makes a path without empty and dot segments: AWS removes those,
// which its signer for Go does not do.
func segments(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString("/s" + url.PathEscape(text(r, 8)))
	}
	if b.Len() == 0 || r.IntN(4) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// signed makes a random request, has AWS's signer sign it, writes it as a
// client does and reads it as a server does.
func signed(t *testing.T, r *rand.Rand) run {
	t.Helper()
	now := time.Date(2020+r.IntN(10), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
	credentials := aws.Credentials{AccessKeyID: "AKIDONE", SecretAccessKey: "one/secret+"}
	if r.IntN(2) == 0 {
		credentials = aws.Credentials{AccessKeyID: "AKIDTWO", SecretAccessKey: "two"}
	}
	query := url.Values{}
	for range r.IntN(5) {
		query.Add("p"+text(r, 3), text(r, 12))
	}
	body := []byte(text(r, 200))
	target := "http://127.0.0.1:" + fmt.Sprint(1024+r.IntN(60000)) + segments(r)
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	method := []string{"GET", "POST", "PUT"}[r.IntN(3)]
	req, err := http.NewRequest(method, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.IntN(4) {
		for range 1 + r.IntN(2) {
			req.Header.Add(fmt.Sprint("X-Header-", i), strings.Trim("v "+strings.Map(printable, text(r, 20)), " "))
		}
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	region := []string{"us-east-1", "eu-central-1", "local"}[r.IntN(3)]
	signer := v4.NewSigner()
	if r.IntN(2) == 0 {
		if err := signer.SignHTTP(context.Background(), credentials, req, hash, "sqs", region, now); err != nil {
			t.Fatal(err)
		}
	} else {
		q := req.URL.Query()
		q.Set("X-Amz-Expires", fmt.Sprint(1+r.IntN(604800)))
		req.URL.RawQuery = q.Encode()
		at, header, err := signer.PresignHTTP(context.Background(), credentials, req, hash, "sqs", region, now)
		if err != nil {
			t.Fatal(err)
		}
		if req, err = http.NewRequest(method, at, bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		for name, values := range header {
			if name != "Host" && name != "Content-Length" {
				req.Header[name] = values
			}
		}
	}
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatal(err)
	}
	return run{got, body, credentials.AccessKeyID, now}
}

// printable keeps what a header may hold.
func printable(c rune) rune {
	if c < ' ' || c > '~' {
		return -1
	}
	return c
}

func TestWhatAWSSignsVerifies(t *testing.T) {
	v := verifier(t)
	presigned := 0
	for seed := range uint64(5000) {
		s := signed(t, rand.New(rand.NewPCG(seed, 1)))
		if err := v.Verify(s.req, s.body, s.now); err != nil {
			t.Fatalf("seed %d: %s %s: %v", seed, s.req.Method, s.req.RequestURI, err)
		}
		claim, err := sigv4.ClaimOf(s.req)
		if err != nil || claim.KeyID != s.key {
			t.Fatalf("seed %d: %+v, %v", seed, claim, err)
		}
		if claim.Presigned() {
			presigned++
		}
	}
	if presigned < 1000 || presigned > 4000 {
		t.Errorf("%d of 5000 were presigned", presigned)
	}
}

func TestWhatWasChangedAfterwardsDoesNot(t *testing.T) {
	v := verifier(t)
	changes := map[string]func(s *run){
		"body":   func(s *run) { s.body = append(s.body, 'x') },
		"method": func(s *run) { s.req.Method = "DELETE" },
		"host":   func(s *run) { s.req.Host = "127.0.0.1" },
		"path":   func(s *run) { s.req.RequestURI = "/x" + s.req.RequestURI },
		"query": func(s *run) {
			if strings.Contains(s.req.RequestURI, "?") {
				s.req.RequestURI += "&extra="
			} else {
				s.req.RequestURI += "?extra="
			}
		},
		"target": func(s *run) { s.req.Header.Set("X-Amz-Target", "AmazonSQS.PurgeQueue") },
		"date":   func(s *run) { s.now = s.now.Add(8 * 24 * time.Hour) },
	}
	for seed := range uint64(300) {
		for name, change := range changes {
			s := signed(t, rand.New(rand.NewPCG(seed, 2)))
			change(&s)
			var refusal *sigv4.Error
			if err := v.Verify(s.req, s.body, s.now); !errors.As(err, &refusal) {
				t.Errorf("seed %d, %s changed: %v", seed, name, err)
			}
		}
	}
}
