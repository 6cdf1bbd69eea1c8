package urlpath

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

const (
	// maxRounds is how often a path is decoded, for servers behind further proxies.
	maxRounds = 3
	// maxReadings bounds the bytes of all readings of one path, and so the time that they take.
	maxReadings = 128 << 10
)

// Resolve converts a path to the form that routes match: it decodes percent-encoded unreserved characters and removes dot
// segments, as a worker may do. So nobody can reach a worker past its route. Other paths are unchanged.
func Resolve(path string) string {
	if strings.IndexByte(path, '%') < 0 && !strings.Contains(path, "/.") {
		return path
	}
	return withoutDots(decodeUnreserved(path))
}

// withoutDots removes dot segments.
func withoutDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	var out []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
		case "..":
			if len(out) > 1 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}

func decodeUnreserved(path string) string {
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, ok := unhex(path[i+1], path[i+2]); ok && h1.Unreserved(c) {
				b = append(b, c)
				i += 2
				continue
			}
		}
		b = append(b, path[i])
	}
	return string(b)
}

func unhex(hi, lo byte) (byte, bool) {
	h, l := h1.HexValue(hi), h1.HexValue(lo)
	return byte(h<<4 | l), h >= 0 && l >= 0
}

// Unclear reports whether servers may read the path as another one.
func Unclear(path string) bool {
	for i := range len(path) {
		switch path[i] {
		case '%', '\\', ';':
			return true
		case '/', '.':
			if i > 0 && path[i-1] == '/' {
				return true
			}
		}
	}
	return false
}

// Readings returns all ways in which servers may read the path: decoded up to maxRounds times, with and without each other
// convention. It returns false if there are too many of them.
func Readings(path string) ([]string, bool) {
	all := []string{path}
	for range maxRounds {
		last := all[len(all)-1]
		if q := unescape(last); q != last {
			all = append(all, q)
		}
	}
	for _, change := range [...]func(string) string{slashes, withoutParams, merged, withoutDots} {
		for _, p := range all {
			if len(all)*len(path) > maxReadings {
				return nil, false
			}
			if q := change(p); q != p {
				all = append(all, q)
			}
		}
	}
	return all, true
}

// Normalise returns the form of the path in which nothing is left to decode or to remove. It returns false for a path that
// is encoded more than maxRounds times.
func Normalise(path string) (string, bool) {
	for range maxRounds {
		path = unescape(path)
	}
	if unescape(path) != path {
		return "", false
	}
	return escape(withoutDots(merged(withoutParams(slashes(path))))), true
}

// unescape decodes every escape once.
func unescape(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, ok := unhex(path[i+1], path[i+2]); ok {
				b = append(b, c)
				i += 2
				continue
			}
		}
		b = append(b, path[i])
	}
	return string(b)
}

// escape encodes characters that a path must not contain.
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path))
	for i := range len(path) {
		if c := path[i]; h1.Unreserved(c) || strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func slashes(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// merged replaces several slashes by one.
func merged(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			b = append(b, path[i])
		}
	}
	return string(b)
}

// withoutParams removes the parameters of segments: /a;b=c/d is /a/d.
func withoutParams(path string) string {
	if strings.IndexByte(path, ';') < 0 {
		return path
	}
	b := make([]byte, 0, len(path))
	skip := false
	for i := range len(path) {
		switch path[i] {
		case '/':
			skip = false
		case ';':
			skip = true
		}
		if !skip {
			b = append(b, path[i])
		}
	}
	return string(b)
}
