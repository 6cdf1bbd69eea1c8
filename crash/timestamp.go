package crash

import "strings"

// timestamp returns the length of the point in time that l begins with, with
// its brackets and with the separators behind it; 0 when there is none. For a
// bracket that holds more than the time (env_logger's) it also returns that
// rest.
func timestamp(l string) (n int, rest string) {
	open := byte(0)
	i := 0
	if l != "" && (l[0] == '[' || l[0] == '(') {
		open, i = l[0], 1
	}
	if l == "" || i >= len(l) {
		return 0, ""
	}
	if n := meteorTime(l); n > 0 {
		return n, ""
	}
	d := date(l[i:])
	if d == 0 {
		d = hanDate(l[i:])
	}
	if d == 0 {
		d = localDate(l[i:])
	}
	j := i + d
	if d > 0 {
		j += countOf(l[j:], "T ,:_-")
	}
	c := clock(l[j:])
	switch {
	case c > 0:
		j += c + zone(l[j+c:])
	case d > 0 && open == 0 && d >= 10:
		return 0, "" // a date alone begins many sentences
	default:
		return kernelTime(l, open)
	}
	if open != 0 {
		end := strings.IndexByte(l[j:min(len(l), j+120)], byte("])"[strings.IndexByte("[(", open)]))
		if end < 0 {
			return 0, ""
		}
		rest = strings.TrimSpace(l[j : j+end])
		j += end + 1
	}
	return j + separators(l[j:]), rest
}

// meteorTime matches "W20150701-12:27:15.218(3)? (STDERR) ". Exactly one blank
// follows: the rest is the line's own.
func meteorTime(l string) int {
	if len(l) < 22 || l[9] != '-' || l[0] != 'W' && l[0] != 'I' && l[0] != 'E' || countDigits(l[1:10]) != 8 {
		return 0
	}
	j := 10 + clock(l[10:])
	end := strings.Index(l[j:min(len(l), j+10)], ")?")
	if j == 10 || end < 2 || l[j] != '(' {
		return 0
	}
	j += end + 2
	for _, p := range []string{" ", "(STDERR)", " "} {
		if strings.HasPrefix(l[j:], p) {
			j += len(p)
		}
	}
	return j
}

// separators returns the length of what stands between two columns of a log.
func separators(l string) int {
	i := countOf(l, " \t")
	if i < len(l) && (l[i] == '|' || l[i] == '-' || l[i] == ':' || l[i] == ',' || l[i] == ';') &&
		(i+1 == len(l) || l[i+1] == ' ' || l[i+1] == '\t') && !isItem(l[i:]) {
		return i + 1 + countOf(l[i+1:], " \t")
	}
	if i > 1 && !strings.Contains(l[:i], "\t") {
		return 1 // the rest is indentation of the line itself
	}
	return min(i, 1)
}

// isItem reports an item of a list, as Node prints the modules that wanted one
// and as its tools print the frames of a stack.
func isItem(l string) bool {
	return strings.HasPrefix(l, "- /") || len(l) > 4 && l[:2] == "- " && l[3] == ':'
}

// kernelTime is dmesg's [12345.678901].
func kernelTime(l string, open byte) (int, string) {
	if open != '[' {
		return 0, ""
	}
	i := 1 + countOf(l[1:], " ")
	a := countDigits(l[i:])
	if a == 0 || i+a >= len(l) || l[i+a] != '.' {
		return 0, ""
	}
	b := countDigits(l[i+a+1:])
	end := i + a + 1 + b
	if b < 3 || end >= len(l) || l[end] != ']' {
		return 0, ""
	}
	return end + 1 + separators(l[end+1:]), ""
}

// only reports whether s has no other characters than those of is.
func only(s string, is func(c byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

// countOf counts the characters of set that s begins with.
func countOf(s, set string) int {
	i := 0
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// countDigits counts the digits that s begins with.
func countDigits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// date matches 2024-05-11, 2024/05/11, 20240511, 11/05/2024, 11-May-2024,
// May 11, Sat May 11, Sat, 11 May 2024 and 2024 May 11.
func date(s string) int {
	i := 0
	if n := name3(s, "MonTueWedThuFriSatSun"); n > 0 {
		i = n + countOf(s[n:], " ,")
	}
	if n := name3(s[i:], months); n > 0 {
		j := i + n + countOf(s[i+n:], " -")
		d := countDigits(s[j:])
		if d == 0 || d > 2 {
			return 0
		}
		return yearBehind(s, j+d)
	}
	a := countDigits(s[i:])
	j := i + a
	if a == 8 && j < len(s) && (s[j] == ' ' || s[j] == 'T' || s[j] == '-') {
		return j
	}
	if a != 1 && a != 2 && a != 4 || j >= len(s) || !isDateMark(s[j]) {
		return 0
	}
	mark := s[j]
	j++
	if n := name3(s[j:], months); n > 0 {
		j += n
	} else if b := countDigits(s[j:]); b == 1 || b == 2 {
		j += b
	} else {
		return 0
	}
	if j >= len(s) || s[j] != mark {
		if a == 4 && mark != ' ' {
			return 0
		}
		return 0
	}
	c := countDigits(s[j+1:])
	if c == 0 || c > 4 || a == 4 && c > 2 {
		return 0
	}
	return j + 1 + c
}

// hanDate matches 2024年05月11日 and 2024년 5월 11일.
func hanDate(s string) int {
	i := 0
	for _, unit := range [...][2]string{{"年", "년"}, {"月", "월"}, {"日", "일"}} {
		n := i + countOf(s[i:], " ")
		d := countDigits(s[n:])
		if n += d; d == 0 || !startsWith(s[n:], unit[:]...) {
			return 0
		}
		i = n + len(unit[0])
	}
	return i
}

// localDate matches the date of a log whose months and days have other names:
// "avril 16", "5月 29". A clock has to follow.
func localDate(s string) int {
	colon := strings.IndexByte(s[:min(len(s), 48)], ':')
	if colon < 4 || s[colon-1] < '0' || s[colon-1] > '9' {
		return 0
	}
	i := 0
	for range 2 { // a day of the week may stand first
		n := 0
		for i+n < len(s) && n <= 16 && (isWord(s[i+n]) && s[i+n] != '_' || s[i+n] == '.' && n > 0) {
			n++
		}
		if n < 2 || i+n == len(s) || s[i+n] != ' ' || countDigits(s[i:]) == n {
			return 0
		}
		for i += n; i < len(s) && s[i] == ' '; {
			i++
		}
		if d := countDigits(s[i:]); d > 0 && d <= 2 && i+d < len(s) && s[i+d] == ' ' && clock(s[i+d+1:]) > 0 {
			return i + d
		}
	}
	return 0
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

func isDateMark(c byte) bool { return c == '-' || c == '/' || c == '.' || c == ' ' }

// yearBehind steps over a year: "May 11, 2024" and "May 11 2024".
func yearBehind(s string, i int) int {
	j := i + countOf(s[i:], " ,-")
	if countDigits(s[j:]) == 4 && (j+4 == len(s) || s[j+4] != ':') {
		return j + 4
	}
	return i
}

// name3 returns 3 when s begins with one of the three-letter names in list, or
// more when the name is written out.
func name3(s, list string) int {
	if len(s) < 3 || s[0] < 'A' || s[0] > 'Z' {
		return 0
	}
	for i := 0; i+3 <= len(list); i += 3 {
		if s[0] == list[i] && s[1] == list[i+1] && s[2] == list[i+2] {
			n := 3
			for n < len(s) && n < 10 && s[n] >= 'a' && s[n] <= 'z' {
				n++
			}
			return n
		}
	}
	return 0
}

// clock matches 08:14:02 with fractions, and AM or PM behind it.
func clock(s string) int {
	a := countDigits(s)
	if a == 0 || a > 2 || a >= len(s) || s[a] != ':' || countDigits(s[a+1:]) != 2 {
		return 0
	}
	i := a + 3
	if rest := s[i:]; strings.HasPrefix(rest, "AM ") || strings.HasPrefix(rest, "PM ") { // 3:04PM
		return i + 2
	}
	if i >= len(s) || s[i] != ':' || countDigits(s[i+1:]) != 2 {
		return 0
	}
	i += 3
	if i+1 < len(s) && (s[i] == '.' || s[i] == ',' || s[i] == ':') {
		if n := countDigits(s[i+1:]); n > 0 && n <= 9 {
			i += 1 + n
		}
	}
	if rest := s[i:]; strings.HasPrefix(rest, " AM") || strings.HasPrefix(rest, " PM") {
		return i + 3
	}
	if i < len(s) && s[i] >= '0' && s[i] <= '9' {
		return 0
	}
	return i
}

// zone matches Z, +02:00, -0500, " UTC", " +0000" and Apache's year.
func zone(s string) int {
	if s == "" {
		return 0
	}
	i := 0
	if s[0] == 'Z' {
		return 1
	}
	if s[0] == ' ' {
		i = 1
	}
	rest := s[i:]
	for _, z := range [...]string{
		"UTC", "GMT", "CEST", "CET", "EST", "EDT", "PST", "PDT", "MSK", "JST", "IST", "BST",
		"CST", "CDT", "MST", "MDT", "EEST", "EET", "WEST", "WET", "HKT", "SGT", "KST", "AEST", "AEDT", "NZST", "BRT", "WIB", "SAST", "HST",
	} {
		if strings.HasPrefix(rest, z) {
			return i + len(z)
		}
	}
	if len(rest) >= 3 && (rest[0] == '+' || rest[0] == '-') {
		switch n := countDigits(rest[1:]); {
		case n == 4:
			return i + 5
		case n == 2 && len(rest) >= 6 && rest[3] == ':' && countDigits(rest[4:]) == 2:
			return i + 6
		}
	}
	if i == 1 && countDigits(rest) == 4 && len(rest) > 4 && rest[4] == ']' {
		return i + 4
	}
	return 0
}
