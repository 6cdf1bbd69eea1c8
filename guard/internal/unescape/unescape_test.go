package unescape

import (
	"encoding/json"
	"net/url"
	"testing"
)

// Both decode what the standard library decodes.
func TestJSON(t *testing.T) {
	for _, raw := range []string{
		``, `plain`, `\"\\\/\b\f\n\r\t`, `a\u0041\u00e9\uFFFDb`, `\ud83d\ude00!`, `\ud83d`, `\ud83d\u0041`, `\ude00\ud83d\ude00`, `\ud83d\n`, `ü\u0000`,
	} {
		var want string
		if err := json.Unmarshal([]byte(`"`+raw+`"`), &want); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got := string(JSON([]byte("-"), []byte(raw))); got != "-"+want {
			t.Errorf("JSON(%s) = %q, want %q", raw, got, "-"+want)
		}
	}
}

func TestQuery(t *testing.T) {
	for _, raw := range []string{``, `plain`, `a+b`, `%41%c3%A9%2B+`} {
		want, err := url.QueryUnescape(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got := string(Query(nil, raw)); got != want {
			t.Errorf("Query(%s) = %q, want %q", raw, got, want)
		}
	}
}

// What the standard library refuses.
func TestInvalid(t *testing.T) {
	for raw, want := range map[string]string{`a\`: `a\`, `\x41`: `x41`, `\u12g4`: `u12g4`, `\u12`: `u12`} {
		if got := string(JSON(nil, []byte(raw))); got != want {
			t.Errorf("JSON(%s) = %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{`100%`: `100%`, `%4`: `%4`, `%zz+`: `%zz `} {
		if got := string(Query(nil, []byte(raw))); got != want {
			t.Errorf("Query(%s) = %q, want %q", raw, got, want)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, test := range []struct {
		text     string
		value, n int
	}{{"", 0, 0}, {"g", 0, 0}, {"25}", 0x25, 2}, {"aBcD9", 0xabcd, 4}} {
		if value, n := Digits([]byte(test.text), 4); value != test.value || n != test.n {
			t.Errorf("Digits(%q) = %#x, %d; want %#x, %d", test.text, value, n, test.value, test.n)
		}
	}
}
