package crash

import "strings"

// discriminatorBytes bounds a discriminator.
const discriminatorBytes = 100

// discriminator reduces a message to the words its author wrote: up to the first
// colon, without numbers, quoted values, paths and whatever else a program puts
// into a message at run time. Two messages of one place have the same, as a
// rule, and those of two places differ.
func discriminator(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line = withoutQuoted(line)
	var b strings.Builder
	for w := range strings.FieldsSeq(line) {
		bare := strings.Trim(w, `.,;:!?()[]{}<>"'`+"`")
		if bare != "" && isProse(bare) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(bare)
		}
		if strings.HasSuffix(w, ":") && b.Len() > 0 || b.Len() > discriminatorBytes {
			break
		}
	}
	s := b.String()
	return s[:min(len(s), discriminatorBytes)]
}

// isProse reports what people write: letters, perhaps with hyphens, underscores,
// double colons and brackets of a call.
func isProse(s string) bool {
	letters := 0
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			letters++
		case strings.ContainsRune("-_'’:()`.", r):
		case r == '=' || r == '!' || r == '<' || r == '>' || r == '&' || r == '|' || r == '*' || r == '+':
			letters++ // an operator in an expression
		default:
			return false
		}
	}
	return letters > 0
}

// withoutQuoted takes out what stands between quotes; a quote that never closes
// stays.
func withoutQuoted(s string) string {
	if !strings.ContainsAny(s, "\"'`") {
		return s
	}
	var b strings.Builder
	for k := 0; k < len(s); {
		q := s[k]
		opens := (q == '"' || q == '`' || q == '\'') && (k == 0 || !proseLetter(s[k-1]))
		if opens {
			end := strings.IndexByte(s[k+1:], q)
			if end < 0 && q == '`' {
				end = strings.IndexByte(s[k+1:], '\'')
			}
			if end >= 0 {
				b.WriteByte(' ')
				k += end + 2
				continue
			}
		}
		b.WriteByte(q)
		k++
	}
	return b.String()
}

func proseLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
