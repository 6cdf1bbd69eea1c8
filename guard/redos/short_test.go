package redos

import "testing"

// Counted repeats cost what their bounds let them, once or for each rune.
func TestShortRepeats(t *testing.T) {
	for _, c := range []struct {
		want, pattern string
		dialects      []Dialect
	}{
		{safe, `^.{1,32}\|.{1,32}\|.{1,64}$`, nil}, // share out in few ways
		{safe, `^[a-z]{2,50}\s{0,50}[a-z]{2,50}\s{0,50}$`, nil},
		{safe, `[^"]{1,100}"[^"]{1,100}"[^"]{1,100}"`, nil},
		{poly, `^.{0,600}.{0,600}.{0,600}x`, nil}, // in many
		{safe, `^x{1,500}x{1,500}y`, nil},         // once
		{poly, `x{1,500}x{1,500}y`, nil},          // from every place
		{poly, `^.*x{1,500}x{1,500}y`, nil},
		{poly, `\d{1,300}\w{1,400}!`, nil},
		{poly, `x{2,400}\wx{0,20}[xy]{2,60}z`, nil}, // of which some are written out
		{srch, `x{2,400}\wx{0,20}z`, nil},
		{poly, `^(?:x{1,8}){1,8}y`, nil}, // 16 million ways, though short
		{poly, `x{1,15}x{1,15}x{1,15}x{1,15}x{1,15}y`, nil},
		{safe, `^(?:[A-F0-9]{1,4}:){7}[A-F0-9]{1,4}$`, nil},
		{poly, `.{1,32}\|.{1,32}\|.{1,64}$`, nil},
		{safe, `[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}$`, nil}, // parted
		{safe, `x{1,200}y{1,200}x{1,200}z`, nil},
		{safe, `.{0,100}foo.{0,100}bar`, nil}, // three runes at a time
	} {
		judge(t, c.want, c.pattern, "", c.dialects)
	}
}
