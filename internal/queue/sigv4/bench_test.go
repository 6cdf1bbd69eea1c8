package sigv4_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

// A message of 200 bytes, as most clients send it.
func BenchmarkVerify(b *testing.B) {
	v, err := sigv4.New(sigv4.Config{Keys: map[string]sigv4.Secret{exampleKey: exampleSecret}})
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("x", 200)
	r, err := http.NewRequestWithContext(b.Context(), "POST", "http://127.0.0.1:9324/", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.RequestURI = "/"
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	s := client()
	s.sign(b, r, body)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Verify(r, []byte(body), s.at); err != nil {
			b.Fatal(err)
		}
	}
}
