package crash

import (
	"strconv"
	"strings"
)

// unextracted is the name of a library without the number or the UUID that makes
// the name of a temporary file unique. A program that brings libraries in an
// archive extracts them at each start, under another name each time.
func unextracted(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		if i+36 <= len(name) && isUUID(name[i:i+36]) {
			i += 36
			continue
		}
		n := countDigits(name[i:])
		if n < 8 {
			b.WriteString(name[i : i+max(n, 1)])
		}
		i += max(n, 1)
	}
	return b.String()
}

// offsetIn is how far behind the beginning of a binary an address lies, "" when
// the two are no hexadecimal numbers.
func offsetIn(address, begin string) string {
	a, err := strconv.ParseUint(address, 16, 64)
	b, err2 := strconv.ParseUint(begin, 16, 64)
	if err != nil || err2 != nil || a < b {
		return ""
	}
	return strconv.FormatUint(a-b, 16)
}
