package live_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// Whatever an error says, a node can say it, and as much of it as fits.
func FuzzCleaned(f *testing.F) {
	f.Add("bezoar.yaml:3:5: no such fleet")
	f.Add("\x00\x1b[31mred\xff\xfe\u2028\n\t")
	f.Add(strings.Repeat("é", 2000))
	f.Add(strings.Repeat("\xff", 1999))
	f.Fuzz(func(t *testing.T, s string) {
		c := live.CleanedError(s)
		if err := (live.Node{Name: "n", Error: c}).Validate(); err != nil {
			t.Fatalf("%q becomes %q: %v", s, c, err)
		}
		if len(s) <= 2000 && utf8.ValidString(s) && (live.Node{Name: "n", Error: s}).Validate() == nil && c != s {
			t.Fatalf("%q needs no change, and becomes %q", s, c)
		}
	})
}

func TestValidateJoinsEveryFault(t *testing.T) {
	for what, err := range map[string]error{
		"By Note Source Sum": live.Version{Note: "\x00", Source: "x", Sum: "y"}.Validate(),
		"ID Route Caller Plan What By Reason": live.Override{
			ID: " ", Route: "\xff", Caller: "\x00", Plan: "\x01", What: "weather", Reason: strings.Repeat("x", 1001),
		}.Validate(),
		"Factor Value":           live.Override{What: live.Rate, Factor: 1001, Value: "x"}.Validate(),
		"Name Error Sum Running": live.Node{Error: "\x00", Sum: "x", Running: -1}.Validate(),
	} {
		for field := range strings.FieldsSeq(what) {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%v does not name %s", err, field)
			}
		}
	}
}
