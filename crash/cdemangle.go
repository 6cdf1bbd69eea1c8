package crash

import (
	"strconv"
	"strings"
)

// demangle makes "shop::total" of "_ZN4shop5totalERKSs". It reads only the
// names, which is what a frame is known by; what it does not understand it
// returns as it is.
func demangle(name string) string {
	s, ok := strings.CutPrefix(strings.TrimPrefix(name, "_"), "_Z")
	if !ok {
		if s, ok = strings.CutPrefix(name, "_Z"); !ok {
			return name
		}
	}
	s = strings.TrimPrefix(s, "L")
	nested := strings.HasPrefix(s, "N")
	if nested {
		s = strings.TrimLeft(s[1:], "KVrOR")
	}
	var parts []string
	if after, ok := strings.CutPrefix(s, "St"); ok {
		parts, s = append(parts, "std"), after
	}
	for s != "" {
		if s[0] == 'I' && nested && len(parts) > 0 { // template arguments
			end := mangledArguments(s)
			if end < 0 {
				break
			}
			s = s[end:]
			continue
		}
		part, rest, ok := mangledName(s)
		if !ok {
			break
		}
		parts, s = append(parts, part), rest
		if !nested {
			break
		}
	}
	if len(parts) == 0 {
		return name
	}
	if nested && (strings.HasPrefix(s, "C1") || strings.HasPrefix(s, "C2")) {
		parts = append(parts, parts[len(parts)-1])
	} else if nested && (strings.HasPrefix(s, "D0") || strings.HasPrefix(s, "D1") || strings.HasPrefix(s, "D2")) {
		parts = append(parts, "~"+parts[len(parts)-1])
	}
	return strings.Join(parts, "::")
}

// mangledName reads "4shop".
func mangledName(s string) (name, rest string, ok bool) {
	s = strings.TrimPrefix(s, "L")
	d := countDigits(s)
	if d == 0 || d > 4 {
		return "", "", false
	}
	n, _ := strconv.Atoi(s[:d])
	if n == 0 || d+n > len(s) {
		return "", "", false
	}
	return s[d : d+n], s[d+n:], true
}

// mangledArguments returns where a list of template arguments ends: names are
// jumped over, so that letters in them close nothing.
func mangledArguments(s string) int {
	depth := 0
	for k := 0; k < len(s); {
		if d := countDigits(s[k:]); d > 0 && d <= 4 && k > 0 && s[k-1] != '_' && s[k-1] != 'L' {
			n, _ := strconv.Atoi(s[k : k+d])
			if k += d + n; k > len(s) {
				return -1
			}
			continue
		}
		switch s[k] {
		case 'I', 'N', 'X', 'L', 'J':
			depth++
		case 'E':
			if depth--; depth == 0 {
				return k + 1
			}
		}
		k++
	}
	return -1
}
