package span

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const validTrace = "00-0123456789abcdef0123456789abcdef-00000000000000ab-01"

func TestParseTrace(t *testing.T) {
	for _, tc := range []struct {
		text string
		ok   bool
	}{
		{validTrace, true},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab-00", true},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab-ff", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01-what-will-come", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01what", false},
		{validTrace + "-", false},
		{"ff-0123456789abcdef0123456789abcdef-00000000000000ab-01", false},
		{"00-00000000000000000000000000000000-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef-0000000000000000-01", false},
		{"00-0123456789ABCDEF0123456789abcdef-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdeg-00000000000000ab-01", false},
		{"00_0123456789abcdef0123456789abcdef-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef_00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab_01", false},
		{validTrace[:54], false},
		{"", false},
	} {
		tr, ok := ParseTrace(tc.text)
		if ok != tc.ok || ok == tr.IsZero() {
			t.Errorf("ParseTrace(%q) = %v, %v", tc.text, tr, ok)
		}
		if ok && strings.HasPrefix(tc.text, "00") && tr.String() != tc.text {
			t.Errorf("%s is written %s", tc.text, tr)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(validTrace)
	f.Add("cc-0123456789abcdef0123456789abcdef-00000000000000ab-01-x")
	f.Fuzz(func(t *testing.T, s string) {
		tr, ok := ParseTrace(s)
		if !ok {
			if !tr.IsZero() {
				t.Errorf("%q is refused and yet %v", s, tr)
			}
			return
		}
		text := tr.String()
		if text[2:] != s[2:traceSize] || tr.ID == [16]byte{} || tr.Span == [8]byte{} {
			t.Errorf("%q is written %q", s, text)
		}
		if back, ok := ParseTrace(text); !ok || back != tr {
			t.Errorf("%q is read back as %v", text, back)
		}
	})
}

func TestNewTracesAreValidAndTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parent Trace
		copy(parent.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		parent.Flags = rapid.Byte().Draw(t, "flags")
		child := NewTrace(parent)
		if back, ok := ParseTrace(child.String()); !ok || back != child {
			t.Fatalf("%s is read as %v, %v", child, back, ok)
		}
		if parent.ID != [16]byte{} && (child.ID != parent.ID || child.Flags != parent.Flags) {
			t.Fatalf("the child of %v is %v", parent, child)
		}
	})
}
