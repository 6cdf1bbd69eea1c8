package redos

import "testing"

// TestMerge is what engines make one class of, and what they leave.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		want, pattern, flags string
		dialects             []Dialect
	}{
		{safe, `^(?:\w|\d)*!`, "", []Dialect{Python, DotNet}},
		{safe, `^(\w|\d|(?:x))*!`, "", []Dialect{Python}},
		{safe, `^(?:ax|a[w-z])*!`, "", []Dialect{Python}},
		{expo, `^(?:ax|a[w-z])*!`, "", []Dialect{JS, DotNet}},
		{expo, `^(?:ax|ax)*!`, "", []Dialect{Python, JS}},
		{expo, `^(?:(x)|[w-z])*!`, "", []Dialect{Python, DotNet}},
		{expo, `^(?:(?i:x)|[w-z])*!`, "", []Dialect{Python}},
		{expo, `^(?:[^x]|w)*!`, "", []Dialect{Python, DotNet}},
		{expo, `^(?:x{1}|[w-z])*!`, "", []Dialect{Python}},
		{expo, `^(?:|x|[w-z])*!`, "", []Dialect{Python}},
		{safe, `^(?:x|y|x)*!`, "", []Dialect{Python}},
		{expo, `^(?:x|y|x)*!`, "", []Dialect{JS, PCRE, Ruby}},
		{expo, `^(?:xa|xb|xa)*!`, "", []Dialect{JS}},
		{safe, `^(?:x|y|x|\d)*!`, "", []Dialect{DotNet}},
		{expo, `^(?:|x|x)*y`, "", []Dialect{Python, PCRE, Java}},
		{expo, `^(?:|x|x)*y`, "", []Dialect{JS}},
		{safe, `^(?:x|y)*!`, "", nil},
		{safe, `^(?:ab|ac|b)*!`, "", nil},
		{expo, `^(?:ab|a|b)*!`, "", nil},
	} {
		dialects := c.dialects
		if dialects == nil {
			dialects = []Dialect{JS, Python, Java}
		}
		for _, d := range dialects {
			o := Options{Dialect: d, Flags: c.flags}
			r := Analyze(c.pattern, o)
			if got := kind(r); got != c.want {
				t.Errorf("%v %q %q: %s, want %s: %+v", d, c.pattern, c.flags, got, c.want, r)
			}
			grows(t, c.pattern, o, r)
		}
	}
}
