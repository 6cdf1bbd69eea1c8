package admission

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

func TestBearer(t *testing.T) {
	for auth, want := range map[string]string{
		"Bearer a.b.c":                  "b",
		"bEARER   a.b.":                 "b",
		"Bearer a.b":                    "",
		"Bearer a.b.c.d":                "",
		"Bearer a.b.c.d.e":              "", // encrypted
		"Bearer":                        "",
		"Bearer ":                       "",
		"Basic a.b.c":                   "",
		"a.b.c":                         "",
		"":                              "",
		"Bearer .." + "":                "",
		"Bearer a." + long(9000) + ".c": "",
	} {
		if got := bearer(auth); got != want {
			t.Errorf("%.30q: payload %.30q, want %q", auth, got, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestClaimOf(t *testing.T) {
	for payload, want := range map[string]string{
		`{"sub":"alice"}`: "alice",
		` { "iat" : 1 , "sub" : "alice" , "x" : null } `: "alice",
		`{"sub":1234567890123456789}`:                    "1234567890123456789",
		`{"sub":-1.5e3,"x":[]}`:                          "-1.5e3",
		`{"a":{"sub":"inner"},"b":["sub",{"sub":"]}"}]}`: "",
		`{"a":{"sub":"inner"},"sub":"outer"}`:            "outer",
		`{"s\u0075b":"esc\u0061ped \"\ud83d\ude00\\"}`:   `escaped "😀\`,
		`{"sub":"lone \ud83d!"}`:                         "lone \ufffd!",
		`{"sub":"alice","sub":"bob"}`:                    "",
		`{"sub":"a\u0000b"}`:                             "",
		`{"sub":"a\nb"}`:                                 "",
		`{"sub":""}`:                                     "",
		`{"sub":true}`:                                   "",
		`{"sub":null}`:                                   "",
		`{"sub":["alice"]}`:                              "",
		`{"sub":{"id":"alice"}}`:                         "",
		`{"sub":"alice"`:                                 "",
		`{"sub":"alice"}{}`:                              "",
		`{"sub":"alice",}`:                               "",
		`{"sub" "alice"}`:                                "",
		`["sub","alice"]`:                                "",
		`"sub"`:                                          "",
		`{}`:                                             "",
		``:                                               "",
		"{\"sub\":\"\xff\"}":                             "",
		`{"sub":"\x"}`:                                   "",
		`{"sub":"\u12"}`:                                 "",
		`{"sub":"` + strings.Repeat(`{[`, 2000) + `"}`:         strings.Repeat(`{[`, 2000),
		`{"x":` + strings.Repeat(`[`, 2000) + `,"sub":"deep"}`: "",
	} {
		if got := claimOf(base64.RawURLEncoding.EncodeToString([]byte(payload)), "sub"); got != want {
			t.Errorf("%.60s: %.60q, want %.60q", payload, got, want)
		}
	}
	for _, encoded := range []string{"e30=", "e!", "e", "e 30", "+/+/"} {
		if got := claimOf(encoded, "sub"); got != "" {
			t.Errorf("%s: %q", encoded, got)
		}
	}
}

// FuzzClaimOf: whatever a token holds, the reader ends in bounds; and what is
// JSON, it reads as the standard library does.
func FuzzClaimOf(f *testing.F) {
	for _, s := range []string{
		`{"sub":"alice"}`, `{"sub":12,"a":[{"sub":"x"}]}`, `{"s\u0075b":"\ud83d\ude00"}`, `{"sub":"a","sub":"b"}`, `{"sub":`, `{"a":"\"","sub":"b"}`,
	} {
		f.Add([]byte(s), "sub")
	}
	f.Fuzz(func(t *testing.T, payload []byte, name string) {
		got := claimOf(base64.RawURLEncoding.EncodeToString(payload), name)
		if !h1.PlainText([]byte(got)) {
			t.Fatalf("%q is no plain text", got)
		}
		var all map[string]json.RawMessage
		if !utf8.Valid(payload) || json.Unmarshal(payload, &all) != nil || !bytes.HasPrefix(bytes.TrimSpace(payload), []byte("{")) {
			return
		}
		want := ""
		var s string
		var n json.Number
		switch raw, ok := all[name]; {
		case !ok || repeats(payload, name):
		case raw[0] == '"' && json.Unmarshal(raw, &s) == nil && h1.PlainText([]byte(s)):
			want = s
		case raw[0] != '"' && json.Unmarshal(raw, &n) == nil:
			want = n.String()
		}
		if got != want {
			t.Fatalf("%q of %s: %q, want %q", name, payload, got, want)
		}
	})
}

// repeats reports whether the object has the member more than once.
func repeats(payload []byte, name string) bool {
	d := json.NewDecoder(bytes.NewReader(payload))
	n, depth, isKey := 0, 0, false
	for {
		tok, err := d.Token()
		if err != nil {
			return n > 1
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
				isKey = depth == 1
			} else if depth--; depth == 1 {
				isKey = true
			}
			continue
		case string:
			if depth == 1 && isKey && v == name {
				n++
			}
		}
		if depth == 1 {
			isKey = !isKey
		}
	}
}
