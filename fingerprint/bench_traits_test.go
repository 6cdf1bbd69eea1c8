package fingerprint_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

// browser are the fields of a browser behind a proxy.
var browser = fieldList{
	"Host", "shop.example.com", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
	"Accept", "application/json", "Accept-Language", "en-US,en;q=0.5", "Accept-Encoding", "gzip, deflate, br", "Connection", "keep-alive",
	"Referer", "https://shop.example.com/cart", "Cookie", "session=6b1f0f6a2f; theme=dark; seen=1", "Sec-Fetch-Mode", "cors",
	"X-Forwarded-For", "192.0.2.7", "X-Request-Id", "7b2d9a60c0f14b6e", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
}

// requests are of a kilobyte each.
func requests() map[string]*fingerprint.Input {
	form := url.Values{"name": {"Ada Lovelace"}, "mail": {"ada@example.com"}, "text": {strings.Repeat("a few words, ", 64)}}.Encode()
	in := map[string]*fingerprint.Input{
		"get":       get("/search/items", "page=2&q=lovelace"),
		"json-1k":   post(jsonType, string(document())),
		"form-1k":   post(formType, form),
		"opaque-1k": post("application/octet-stream", strings.Repeat("0123456789abcdef", 64)),
	}
	for _, in := range in {
		in.Fields = browser
	}
	return in
}

func BenchmarkVariant(b *testing.B) {
	p := printer(b, fingerprint.Config{})
	for name, in := range requests() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if variant(p, in).IsZero() {
					b.Fatal("no variant")
				}
			}
		})
	}
}

func BenchmarkFeatures(b *testing.B) {
	p := printer(b, fingerprint.Config{})
	client := p.Client("me")
	dst := make([]uint64, 0, fingerprint.MaxFeatures)
	for name, in := range requests() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if dst = p.Features(in, client, dst[:0]); len(dst) == 0 {
					b.Fatal("no features")
				}
			}
		})
	}
}

func BenchmarkFeatureText(b *testing.B) {
	p := printer(b, fingerprint.Config{})
	in := requests()["json-1k"]
	fs := p.Features(in, bezoar.Fingerprint{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.FeatureText(in, bezoar.Fingerprint{}, fs[len(fs)/2]); !ok {
			b.Fatal("no text")
		}
	}
}

// What the most expensive 64 KiB cost that we know of.
func BenchmarkFeaturesHostile64K(b *testing.B) {
	p := printer(b, fingerprint.Config{})
	var members, names, pairs bytes.Buffer
	for members.WriteString(`{"a":0`); members.Len() < 64<<10-20; {
		fmt.Fprintf(&members, `,"%x":0`, members.Len())
	}
	members.WriteString("}")
	names.WriteString(`{"` + strings.Repeat("n", 30<<10) + `":[0`)
	for names.Len() < 64<<10-20 {
		fmt.Fprintf(&names, `,%d`, names.Len())
	}
	names.WriteString("]}")
	for pairs.Len() < 64<<10-20 {
		fmt.Fprintf(&pairs, "%x&", pairs.Len())
	}
	for name, in := range map[string]*fingerprint.Input{
		"many-members": post(jsonType, members.String()), "long-name": post(jsonType, names.String()), "many-pairs": post(formType, pairs.String()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(p.Features(in, bezoar.Fingerprint{}, nil)) < 50 {
					b.Fatal("few features")
				}
			}
		})
	}
}
