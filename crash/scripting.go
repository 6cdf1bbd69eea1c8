package crash

import (
	"slices"
	"strings"
)

// leadingNumber reads the decimal number that s begins with. ok is false when
// there is none, or one so large that it's no line's.
func leadingNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if n = n*10 + int(s[i]-'0'); n > 1<<30 {
			return 0, s, false
		}
		i++
	}
	return n, s[i:], i > 0
}

// splitBase splits a path at its last slash.
func splitBase(p string) (dir, base string) {
	if at := strings.LastIndexByte(p, '/'); at >= 0 {
		return p[:at], p[at+1:]
	}
	return "", p
}

// slashed returns a path in lower case with slashes, to be compared.
func slashed(p string) string {
	return strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
}

// listed reports whether name is one of list's words, which stand between
// spaces.
func listed(list, name string) bool {
	return name != "" && !strings.Contains(name, " ") && strings.Contains(list, " "+name+" ")
}

// spoken reports whether one of the words occurs in s.
func spoken(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// startsWith reports whether s begins with one of the words.
func startsWith(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(s, w) })
}

// endsWith reports whether s ends with one of the words.
func endsWith(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(s, w) })
}

// between returns what stands in s between before and after.
func between(s, before, after string) (string, bool) {
	_, s, ok := strings.Cut(s, before)
	if !ok {
		return "", false
	}
	s, _, ok = strings.Cut(s, after)
	return s, ok
}

// isIdentByte reports the bytes of names in most languages.
func isIdentByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// lastSegment returns what stands behind the last of any of seps.
func lastSegment(s, seps string) string {
	if at := strings.LastIndexAny(s, seps); at >= 0 {
		return s[at+1:]
	}
	return s
}

// ownFrames reports whether one of frames is the user's own: neither a library's
// nor one that says nothing.
func ownFrames(frames []Frame, library, ignore func(Frame) bool) bool {
	return slices.ContainsFunc(frames, func(f Frame) bool { return !library(f) && (ignore == nil || !ignore(f)) })
}

// withoutInner drops the innermost frames that inner names from an exception
// of libraries alone: the package that called the language's own library says
// more. Frames of nothing else stay as they are.
func withoutInner(frames []Frame, library, inner func(Frame) bool) []Frame {
	if ownFrames(frames, library, nil) {
		return frames
	}
	for i, f := range frames {
		if !inner(f) {
			return frames[i:]
		}
	}
	return frames
}
