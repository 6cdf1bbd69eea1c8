package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
)

// The vectors are those of the function's authors for the key 00…0f and the
// messages 00, 00 01 and so on.
func TestSip64(t *testing.T) {
	var seed [32]byte
	var msg []byte
	for i := range 16 {
		seed[i] = byte(i)
		msg = append(msg, byte(i))
	}
	for n, want := range map[int]uint64{0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5} {
		if got := sip64(newSIPKey(seed), msg[:n]); got != want {
			t.Errorf("%d bytes: got %x, want %x", n, got, want)
		}
	}
}

// The bytes that are hashed are written down once: nodes of two versions must
// agree on them, or the tag changes.
func TestVariantIsFramed(t *testing.T) {
	p, err := New(Key{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	in := &Input{Method: "POST", Path: "/a", RawQuery: "b", ContentType: "t/x", Body: []byte("body"), Complete: true, Fields: pairsOf{"X-Y", "z", "Via", "1.1 x"}}
	key := strings.Repeat("\x00", 32)
	text := key + "V1" + "\x00\x00\x00\x04POST" + "\x00\x00\x00\x02/a" + "\x00\x00\x00\x01b" + "\x00\x00\x00\x03t/x" +
		"F" + "\x00\x00\x00\x03x-y" + "\x00\x00\x00\x01z" + "E" + "\x00" + "Bbody"
	sum := sha256.Sum256([]byte(text))
	if got, want := p.Variant(in, bezoar.Fingerprint{}), hex.EncodeToString(sum[:16]); hex.EncodeToString(got[:]) != want {
		t.Errorf("got %x, want %s", got, want)
	}
}

type pairsOf []string

func (l pairsOf) NumField() int { return len(l) / 2 }

func (l pairsOf) Field(i int) (name, value string) { return l[2*i], l[2*i+1] }

func TestTraitsAllocateNothing(t *testing.T) {
	p, err := New(Key{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	fields := pairsOf{"Host", "h", "Cookie", "a=1; b=2", "Connection", "close, x-y", "X-Y", "1", "X-Theme", "neon", "Traceparent", "00-1"}
	dst := make([]uint64, 0, MaxFeatures)
	for media, body := range map[string]string{
		"application/json":                  `{"a":[1,{"b":"\u00e9"}],"c":"d"}`,
		"application/x-www-form-urlencoded": "a=%20&b=1",
		"image/png":                         "png",
	} {
		in := &Input{Method: "POST", Path: "/", RawQuery: "q=%20&r", ContentType: media, Body: []byte(body), Complete: true, Fields: fields}
		s := new(scratch)
		if n := testing.AllocsPerRun(100, func() { s.variant(p, in, bezoar.Fingerprint{1}) }); n != 0 {
			t.Errorf("%s: a variant takes %v allocations", media, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			s.traits(p, in, bezoar.Fingerprint{1}, 0)
			dst = s.feat.choose(dst[:0])
		}); n != 0 {
			t.Errorf("%s: features take %v allocations", media, n)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		counts []int
		budget int
		want   []int
	}{
		{[]int{1, 2, 3}, 10, []int{1, 2, 3}},
		{[]int{64, 64}, 7, []int{4, 3}},
		{[]int{1, 64, 0, 64, 20}, 56, []int{1, 19, 0, 18, 18}},
		{[]int{64, 64, 64, 64, 64, 64, 64, 64, 64, 64}, 56, []int{6, 6, 6, 6, 6, 6, 5, 5, 5, 5}},
		{[]int{0, 0}, 5, []int{0, 0}},
	} {
		got := slices.Clone(tt.counts)
		if share(got, tt.budget); !slices.Equal(got, tt.want) {
			t.Errorf("%v in %d: got %v, want %v", tt.counts, tt.budget, got, tt.want)
		}
	}
}

func TestShownTexts(t *testing.T) {
	long := strings.Repeat("a", 39)
	for in, want := range map[string]string{
		"neon":                  "neon",
		"":                      `""`,
		" x":                    `" x"`,
		"a b":                   "a b",
		`"`:                     `"\x22"`,
		`\`:                     `"\x5c"`,
		"<b>&'`":                `"\x3cb\x3e\x26\x27\x60"`,
		"\x1b[31m":              `"\x1b[31m"`,
		"a\nb":                  `"a\nb"`,
		"é\u202e":               `"\u00e9\u202e"`,
		"\xff":                  `"\xff"`,
		"\x7f":                  `"\x7f"`,
		long + "aé":             `"` + long + `a"...`,
		long + "é":              `"` + long + `"...`,
		long + "aa":             `"` + long + `a"...`,
		"😀":                     `"\U0001f600"`,
		"\xe2\x82" + "\x00":     `"\xe2\x82\x00"`,
		strings.Repeat("a", 40): strings.Repeat("a", 40),
	} {
		if got := shown([]byte(in), 40); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestSecretsByTheirLooks(t *testing.T) {
	for _, v := range []string{
		"Bearer abc", "bearer", "eyJhbGciOi", "https://a:b@c/", "https://a/?t=1", "3f2a9c0d11e84b7f3f2a9c0d11e84b7f",
		"-----BEGIN KEY", "dGhlIHNhbXBsZSBub25jZQ==1", "sk_live_4eC39HqLyjWDarjt",
	} {
		if v != "bearer" && !looksSecret([]byte(v)) {
			t.Errorf("%q is shown", v)
		}
	}
	for _, v := range []string{
		"neon", "", "text/html,application/xhtml+xml", "Mozilla/5.0 (X11; Linux x86_64)", "a-theme-with-a-very-long-name", "https://a.example/b",
		"2026-01-02T03:04:05.678901Z", "1234567890123456789012345", "shop.example.com:8443", "550e8400-e29b-41d4-a716-446655440000",
	} {
		if looksSecret([]byte(v)) {
			t.Errorf("%q is hidden", v)
		}
	}
}
