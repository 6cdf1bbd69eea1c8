package admission

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// someone is an Identity.
type someone struct {
	fields []h1.Field
	ip     string
}

func (s *someone) HeaderValue(lower string) (string, bool) { return h1.Value(s.fields, lower) }
func (s *someone) Address() string                         { return s.ip }

// from makes somebody from an address and "Name: value" lines.
func from(ip string, lines ...string) *someone {
	s := &someone{ip: ip}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		s.fields = append(s.fields, h1.Field{Name: name, Value: value})
	}
	return s
}

func token(payload string) string {
	return "Authorization: Bearer eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func mustKey(t testing.TB, s string, client *Key) *Key {
	t.Helper()
	k, err := ParseKey(s, client)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestWhoIsCounted: who belongs together gets one key, and nobody else does.
func TestWhoIsCounted(t *testing.T) {
	client := mustKey(t, "header:X-Api-Key", nil)
	for _, tc := range []struct {
		key  string
		a, b *someone
		same bool
	}{
		{"ip", from("192.0.2.1"), from("192.0.2.1"), true},
		{"ip", from("192.0.2.1"), from("192.0.2.2"), false},
		{"ip", from("192.0.2.1"), from("::ffff:192.0.2.1"), true},
		{"ip", from("2001:db8::1"), from("2001:db8::ffff:ffff:ffff:ffff"), true},
		{"ip", from("2001:db8::1"), from("2001:db8:0:1::1"), false},
		{"ip", from("unknown"), from("unknown"), true},
		{"header:X-Api-Key", from("192.0.2.1", "X-Api-Key: k"), from("192.0.2.2", "x-API-key: k"), true},
		{"header:X-Api-Key", from("192.0.2.1", "X-Api-Key: k"), from("192.0.2.1", "X_Api_Key: k"), true},
		{"header:X-Api-Key", from("192.0.2.1", "X-Api-Key: k"), from("192.0.2.1", "X-Api-Key: l"), false},
		{"header:X-Api-Key", from("192.0.2.1", "X-Api-Key: k", "X-Api-Key: k"), from("192.0.2.1", "X-Api-Key: k"), true},
		{"header:X-Api-Key", from("192.0.2.1"), from("192.0.2.1", "X-Api-Key: 192.0.2.1"), false}, // no one else's place
		{"header:X-Api-Key", from("192.0.2.1"), from("192.0.2.2"), false},
		{"header:X-Api-Key", from("192.0.2.1"), from("192.0.2.1", "X-Api-Key: "), true},
		{"client", from("192.0.2.1", "X-Api-Key: k"), from("192.0.2.2", "X-Api-Key: k"), true},
		{"client+ip", from("192.0.2.1", "X-Api-Key: k"), from("192.0.2.2", "X-Api-Key: k"), false},
		{"header:A+header:B", from("192.0.2.1", "A: xy", "B: z"), from("192.0.2.1", "A: x", "B: yz"), false},
		{"header:A+header:B", from("192.0.2.1", "A: x", "B: y"), from("192.0.2.1", "A: y", "B: x"), false},
		{"jwt:sub", from("192.0.2.1", token(`{"sub":"alice"}`)), from("192.0.2.2", token(`{"iat":7,"sub":"\u0061lice"}`)), true},
		{"jwt:sub", from("192.0.2.1", token(`{"sub":"alice"}`)), from("192.0.2.1", token(`{"sub":"bob"}`)), false},
		{"jwt:sub", from("192.0.2.1", token(`{"sub":["alice"]}`)), from("192.0.2.1"), true},
		{"jwt:sub", from("192.0.2.1", "Authorization: Bearer !.!.!"), from("192.0.2.1", "Authorization: Basic abc"), true},
		{"jwt:sub", from("192.0.2.1", token(`{"sub":"192.0.2.1"}`)), from("192.0.2.1"), false},
		{"route", from("192.0.2.1"), from("192.0.2.2"), true},
	} {
		k := mustKey(t, tc.key, client)
		for _, m := range []*ClientCache{new(ClientCache), warm(t, k, tc.b)} {
			a, err := k.sum(&[32]byte{1}, m, tc.a, "r")
			if err != nil {
				t.Fatal(err)
			}
			b, err := k.sum(&[32]byte{1}, m, tc.b, "r")
			if err != nil {
				t.Fatal(err)
			}
			if (a == b) != tc.same {
				t.Errorf("%s: %v and %v counted as one is %v", tc.key, tc.a, tc.b, a == b)
			}
		}
	}
	k := mustKey(t, "ip", nil)
	a, _ := k.sum(&[32]byte{1}, new(ClientCache), from("192.0.2.1"), "r")
	b, _ := k.sum(&[32]byte{2}, new(ClientCache), from("192.0.2.1"), "r")
	if a == b {
		t.Error("the hash does not depend on the secret")
	}
}

// warm is a memory that has seen many others, and a.
func warm(t *testing.T, k *Key, a *someone) *ClientCache {
	m := new(ClientCache)
	for i := range 9 {
		who := from("10.0.0."+strconv.Itoa(i), "X-Api-Key: "+strconv.Itoa(i), token(`{"sub":"`+strconv.Itoa(i)+`"}`))
		if _, err := k.sum(&[32]byte{1}, m, who, "r"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.sum(&[32]byte{1}, m, a, "r"); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRepeatedHeaders: a caller that names itself twice in two ways is nobody.
func TestRepeatedHeaders(t *testing.T) {
	for _, who := range []*someone{
		from("192.0.2.1", "X-Api-Key: a", "X-Api-Key: b"),
		from("192.0.2.1", "X-Api-Key: a", "x-api-key: "),
		from("192.0.2.1", "X-Api-Key: a", "X_API_KEY: b"),
		from("192.0.2.1", "Authorization: a", "authorization: b", "X-Api-Key: a"),
	} {
		k := mustKey(t, "header:X-Api-Key+jwt:sub", nil)
		if _, err := k.sum(new([32]byte), new(ClientCache), who, ""); err == nil {
			t.Errorf("%v is counted", who)
		}
		if id := mustKey(t, "header:X-Api-Key", nil).ID(new(ClientCache), from("192.0.2.1", "X-Api-Key: a", "X-Api-Key: b"), ""); id != "192.0.2.1" {
			t.Errorf("it is called %q", id)
		}
	}
}

func TestCallersForPeople(t *testing.T) {
	m := new(ClientCache)
	for _, tc := range []struct {
		key, want string
		who       *someone
	}{
		{"ip", "192.0.2.1", from("192.0.2.1")},
		{"ip", "192.0.2.1", from("::ffff:192.0.2.1")},
		{"ip", "2001:db8:1:2::/64", from("2001:db8:1:2:3:4:5:6")},
		{"header:X-Api-Key", "k", from("192.0.2.1", "X-Api-Key: k")},
		{"header:X-Api-Key", "192.0.2.1", from("192.0.2.1")},
		{"jwt:sub", "alice", from("192.0.2.1", token(`{"sub":"alice"}`))},
		{"jwt:org+header:X-User+ip+route", "7+u+192.0.2.1+r", from("192.0.2.1", token(`{"org":7}`), "X-User: u")},
	} {
		for range 2 {
			if got := mustKey(t, tc.key, nil).ID(m, tc.who, "r"); got != tc.want {
				t.Errorf("%s of %v: %q, want %q", tc.key, tc.who, got, tc.want)
			}
		}
	}
}

func TestKeysThatMeanNothing(t *testing.T) {
	for _, s := range []string{"", "ip+", "header:", "header:a b", "jwt:", "jwt", "client", "user", "ip+ip+ip+ip+ip", "IP"} {
		if k, err := ParseKey(s, nil); err == nil {
			t.Errorf("%q is %v", s, k)
		}
	}
}

// TestRecallIsBounded: what a connection remembers does not grow with what it
// was sent.
func TestRecallIsBounded(t *testing.T) {
	m := new(ClientCache)
	k := mustKey(t, "header:A+jwt:sub+ip", nil)
	for i := range 20 {
		who := from("192.0.2.1", "A: "+long(60_000+i), token(`{"sub":"`+long(5000+i)+`"}`))
		if _, err := k.sum(new([32]byte), m, who, ""); err != nil {
			t.Fatal(err)
		}
		_ = k.ID(m, who, "")
	}
	size := cap(m.buf) + len(m.authorization) + len(m.value) + len(m.id)
	for i := range m.sums {
		size += cap(m.sums[i].text)
	}
	if size > 8*maxCached {
		t.Errorf("%d bytes are kept", size)
	}
}

// TestRecallAllocatesNothing: a caller who comes again costs no memory.
func TestClientCacheAllocatesNothing(t *testing.T) {
	m, secret := new(ClientCache), new([32]byte)
	who := from("2001:db8::1", "X-Api-Key: k", token(`{"sub":"alice"}`))
	keys := []*Key{mustKey(t, "header:X-Api-Key", nil), mustKey(t, "jwt:sub+ip", nil), mustKey(t, "ip", nil)}
	if n := testing.AllocsPerRun(100, func() {
		for _, k := range keys {
			if _, err := k.sum(secret, m, who, "r"); err != nil {
				t.Fatal(err)
			}
			_ = k.ID(m, who, "r")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRateLimitFields(t *testing.T) {
	b := appendPolicy(nil, "default", "requests", 100, 60_000_000_000)
	b = appendPolicy(b, `a "b"\é`, "bytes", 1<<62, 1_500_000_000)
	b = appendPolicy(b, "c", "cost", -1, 1_000_000)
	if want := `"default";q=100;w=60, "a \"b\"\\??";q=999999999999999;qu="content-bytes";w=2, "c";q=0;qu="cost"`; string(b) != want {
		t.Errorf("policy\n%s, want\n%s", b, want)
	}
	b = appendLimit(nil, "default", 7, 1_000_000)
	b = appendLimit(append(b, ' '), "c", -5, 0)
	if want := `"default";r=7;t=1 "c";r=0;t=0`; string(b) != want {
		t.Errorf("limit\n%s, want\n%s", b, want)
	}
}
