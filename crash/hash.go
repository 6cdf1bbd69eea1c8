package crash

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// version is part of every hash: a change of the canonical form changes it,
// so that hashes of two forms never meet.
const version = "1"

// hashes returns the strict fingerprint and the group of c. reason is the
// folded message.
func (c *choice) hashes(reason string) (strict, group string) {
	form := c.canonical(reason)
	group = digest(form, 0)
	if c.frame.offset != "" {
		form = append(form, c.frame.offset)
	}
	return digest(form, c.frame.Line), group
}

// canonical is what the group is a hash of.
func (c *choice) canonical(reason string) []string {
	f := c.frame
	name := "text"
	if c.lang != nil {
		name = c.lang.name
		if pkg := c.pool(reason); pkg != "" {
			if c.vague() && c.code != "" {
				reason = ""
			}
			return []string{version, name, c.kind, pkg, "", "", c.cause, c.discriminator(), reason}
		}
		if c.lang.canonical != nil {
			f = c.lang.canonical(f)
		}
	}
	return []string{
		version, name, c.kind, f.Module, f.Function, base(f.File), c.cause, c.discriminator(), c.words(f, reason),
	}
}

// pool returns the package that stands for the place, if one may.
func (c *choice) pool(reason string) string {
	if c.rests != Library || c.lang.pooled == nil {
		return ""
	}
	return c.lang.pooled(c.frame, exception{typ: c.typ, code: c.code, message: c.message}, reason)
}

func (c *choice) vague() bool {
	return c.lang != nil && c.lang.vague != nil && c.lang.vague(c.typ)
}

// discriminator returns the code where the type says too little or no place
// helps it.
func (c *choice) discriminator() string {
	if c.vague() || c.rests == Message {
		return c.code
	}
	return ""
}

// words returns the folded message where the rest would not tell two bugs
// apart: without a frame, with a frame that names no function, and for a vague
// type in somebody else's frame. Elsewhere the message stays out, because it
// is what varies.
func (c *choice) words(f Frame, reason string) string {
	switch {
	case c.rests == Exit, c.told:
		return ""
	case c.vague() && c.code != "":
		return "" // the language found better words
	case f.Function == "" && f.Module == "", c.vague() && c.rests != Own:
		return reason
	}
	return ""
}

// digest hashes the parts and, for the strict fingerprint, the line.
func digest(parts []string, line int) string {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
		b = append(b, 0)
	}
	if line > 0 {
		b = append(b, "line "...)
		b = strconv.AppendInt(b, int64(line), 10)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// base returns the last part of a path of any system.
func base(file string) string {
	if i := strings.IndexAny(file, "?#"); i > 0 && strings.Contains(file[:i], "://") {
		file = file[:i]
	}
	return file[strings.LastIndexAny(file, `/\`)+1:]
}
