package crash

import "strings"

// isToken reports bytes that values are made of; the rest separates them.
func isToken(c byte) bool {
	return isWord(c) || strings.IndexByte("./\\:@%+~-$#&?=*", c) >= 0
}

// tokenLen returns the length of the token that s begins with. An = ends it,
// so that in key=value the value stands alone, unless it is a URL's.
func tokenLen(s string) int {
	url := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ':' && strings.HasPrefix(s[i:], "://") {
			url = true
		}
		if url && (c == ',' || c == ';' || c == '[' || c == ']') {
			continue
		}
		if !isToken(c) || c == '=' && !url {
			return max(i, 1)
		}
	}
	return len(s)
}

// token writes one token, as itself or as its kind.
func (f *folder) token(s string) {
	core := strings.TrimRight(s, ".:?")
	tail := s[len(core):]
	if core == "" {
		f.put(s)
		return
	}
	kind := kindOf(core)
	if kind == "" && strings.IndexByte(core, ':') > 0 && !strings.Contains(core, "://") {
		f.parts(core, tail)
		return
	}
	if kind == "" {
		f.put(foldDigits(core) + tail)
		f.word = strings.ToLower(core)
		return
	}
	f.put(kind + tail)
	if kind != "<int>" {
		f.word = ""
	}
}

// parts folds what colons join, each part by itself: host:port, file:line.
func (f *folder) parts(s, tail string) {
	for i, p := range strings.Split(s, ":") {
		if i > 0 {
			f.put(":")
		}
		switch kind := kindOf(p); {
		case p == "":
		case kind != "":
			f.put(kind)
		default:
			f.put(foldDigits(p))
		}
	}
	f.put(tail)
	f.word = ""
}

// kindOf names what varies in s as a whole: "" when it is a word.
func kindOf(s string) string {
	switch {
	case s == "":
		return ""
	case strings.Contains(s, "://"):
		return "<url>"
	case isUUID(s):
		return "<uuid>"
	case isEmail(s):
		return "<email>"
	case isPath(s):
		return "<path>"
	case isIP(s):
		return "<ip>"
	case isHost(s):
		return "<host>"
	}
	if c := s[0]; c >= '0' && c <= '9' || (c == '-' || c == '+' || c == '#') && len(s) > 1 && s[1] >= '0' && s[1] <= '9' {
		return numeral(strings.TrimLeft(s, "-+#"))
	}
	if isHash(s) {
		return "<hex>"
	}
	return ""
}

// numeral names a token that begins with a digit.
func numeral(s string) string {
	n := countDigits(s)
	switch {
	case n == len(s):
		return "<int>"
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		if isHex(s[2:]) {
			return "<hex>"
		}
	case date(s) > 0 && date(s) >= len(s)-1, strings.IndexByte(s, 'T') > 0 && date(s) >= 8:
		return "<date>"
	case clock(s) > 0:
		return "<time>"
	case isHash(s):
		return "<hex>"
	}
	return measure(s, n)
}

// measure names floats, percentages, durations and sizes.
func measure(s string, n int) string {
	i, float := n, false
	if i+1 < len(s) && s[i] == '.' && countDigits(s[i+1:]) > 0 {
		float = true
		i += 1 + countDigits(s[i+1:])
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		k := i + 1
		if k < len(s) && (s[k] == '-' || s[k] == '+') {
			k++
		}
		if d := countDigits(s[k:]); d > 0 {
			float, i = true, k+d
		}
	}
	unit := s[i:]
	switch {
	case unit == "":
		return pick(float, "<float>", "<int>")
	case unit == "%":
		return "<int>%"
	case isDuration(s):
		return "<duration>"
	}
	switch strings.ToLower(unit) {
	case "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "k", "g", "bytes", "byte":
		return "<size>"
	case "st", "nd", "rd", "th":
		return "<int>"
	}
	return ""
}

func pick(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// isDuration matches 15s, 1.5ms, 1h2m3.5s.
func isDuration(s string) bool {
	for s != "" {
		n := countDigits(s)
		if n == 0 {
			return false
		}
		s = s[n:]
		if strings.HasPrefix(s, ".") {
			s = s[1+countDigits(s[1:]):]
		}
		cut := false
		for _, u := range [...]string{"ms", "us", "µs", "ns", "sec", "secs", "seconds", "second", "min", "mins", "hours", "days", "s", "m", "h", "d"} {
			if rest, ok := strings.CutPrefix(s, u); ok && (rest == "" || countDigits(rest) > 0) {
				s, cut = rest, true
				break
			}
		}
		if !cut {
			return false
		}
	}
	return true
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// isLowerHex is isHex for the hashes that compilers and engines print.
func isLowerHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// isHash matches hashes and ids: eight or more hexadecimal digits, some of
// them numerals, or 0x and any.
func isHash(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	return len(s) >= 8 && isHex(s) && strings.ContainsAny(s, "0123456789")
}

func isUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return isHex(strings.ReplaceAll(s, "-", ""))
}

func isEmail(s string) bool {
	at := strings.IndexByte(s, '@')
	return at > 0 && strings.IndexByte(s[at:], '.') > 1 && strings.Count(s, "@") == 1 && !strings.Contains(s, "/")
}

// isPath matches absolute and relative paths of any system.
func isPath(s string) bool {
	switch {
	case len(s) < 2:
		return false
	case s[0] == '/':
		return s[1] != '/' && s[1] != '*'
	case strings.HasPrefix(s, "~/"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, `.\`), strings.HasPrefix(s, `\\`):
		return true
	case len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/'):
		return true
	case strings.Count(s, "/")+strings.Count(s, `\`) >= 2:
		return true
	}
	slash := strings.LastIndexAny(s, `/\`)
	return slash > 0 && strings.LastIndexByte(s, '.') > slash+1 && !strings.HasSuffix(s, ".")
}

// isIP matches addresses of both kinds with their port.
func isIP(s string) bool {
	parts := 0
	rest := s
	for {
		n := countDigits(rest)
		if n == 0 || n > 3 {
			break
		}
		parts++
		rest = rest[n:]
		if parts == 4 {
			return rest == "" || rest[0] == ':' && countDigits(rest[1:]) == len(rest)-1 || rest[0] == '/'
		}
		if rest == "" || rest[0] != '.' {
			break
		}
		rest = rest[1:]
	}
	if strings.Count(s, ":") < 2 || len(s) > 45 {
		return false
	}
	return strings.Trim(s, "0123456789abcdefABCDEF:.") == "" && (strings.Contains(s, "::") || strings.Count(s, ":") >= 4)
}

// isHost matches names with a known end or with a port: db-1.prod.internal,
// api.example.com:443. A module or a file has no such end.
func isHost(s string) bool {
	host, port, ok := strings.Cut(s, ":")
	if ok && (countDigits(port) == 0 || countDigits(port) != len(port)) {
		return false
	}
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 {
		return ok && host == "localhost"
	}
	switch host[dot+1:] {
	case "com", "org", "net", "io", "dev", "internal", "local", "cluster", "svc", "edu", "gov", "cloud", "co", "lan", "localdomain":
	default:
		return false
	}
	return only(host, func(c byte) bool { return isWord(c) || c == '-' || c == '.' }) && strings.ToLower(host) == host && !strings.HasPrefix(host, "com.") && !strings.HasPrefix(host, "org.")
}

// foldDigits folds what varies within a word: parts of digits only (worker-17),
// hashes, and runs of four digits or more. What belongs to a name stays: utf8,
// sha256.
func foldDigits(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := alphanumerics(s[i:])
		switch part := s[i : i+n]; {
		case n == 0:
			b.WriteByte(s[i])
			n = 1
		case countDigits(part) == n:
			b.WriteString("<int>")
		case isHash(part), i > 0 && s[i-1] == '#' && isHex(part): // Tray#1c2d3
			b.WriteString("<hex>")
		default:
			foldRuns(&b, part)
		}
		i += n
	}
	return b.String()
}

// alphanumerics counts the letters and digits that s begins with.
func alphanumerics(s string) int {
	i := 0
	for i < len(s) && isWord(s[i]) && s[i] != '_' {
		i++
	}
	return i
}

// foldRuns folds the long numbers within a part.
func foldRuns(b *strings.Builder, s string) {
	for i := 0; i < len(s); {
		n := countDigits(s[i:])
		switch {
		case n == 0:
			b.WriteByte(s[i])
			n = 1
		case n >= 4:
			b.WriteString("<int>")
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
}
