package crash

import "strings"

// placeIn returns the first place that l names, in one of its common shapes,
// and where in l it is:
//
//	a.c:33:5   a.cs(33,5)   A.java:[33,12]   "a.ml", line 33   line 33 of file a.f90
func placeIn(l string) (f Frame, from, end int) {
	for i := 0; i < len(l); {
		if !isPathByte(l[i]) {
			i++
			continue
		}
		from = i
		for i < len(l) && isPathByte(l[i]) {
			i++
		}
		if i-from < 3 {
			continue
		}
		if f, n := placeOf(l[from:i], l[i:]); n >= 0 {
			if f.Line == 0 {
				if f.Line = lineBefore(l[:from]); f.Line == 0 {
					continue
				}
			}
			f.Function = functionAt(l[:from], l[i+n:])
			return f, from, i + n
		}
	}
	return Frame{}, 0, 0
}

func isPathByte(c byte) bool { return isWord(c) || strings.IndexByte(`./\:@%+~-$#`, c) >= 0 }

// placeOf reads a token and what stands behind it; n is how much of that
// belongs to it, -1 when the token is no file.
func placeOf(token, rest string) (f Frame, n int) {
	name := strings.TrimRight(token, ":.-")
	if g, ok := placeBefore(name); ok {
		return g, fileOr(g.File, 0)
	}
	f.File = name
	if fileOr(name, 0) < 0 {
		return f, -1
	}
	switch {
	case rest == "":
	case (rest[0] == '(' || rest[0] == '[') && len(rest) > 1 && countDigits(rest[1:]) > 0:
		f.Line = atoi(rest[1 : 1+countDigits(rest[1:])])
		if close := strings.IndexAny(rest, ")]"); close > 0 {
			n = close + 1
		}
	default:
		skip := len(rest) - len(strings.TrimLeft(rest, `"', :`))
		if d := countDigits(rest[skip:]); skip > 0 && d > 0 && strings.HasPrefix(rest[skip+d:], ":") && countDigits(rest[skip+d+1:]) > 0 { // webpack's 2:0-32
			f.Line, n = atoi(rest[skip:skip+d]), skip+d+1+countDigits(rest[skip+d+1:])
		}
		for _, word := range [...]string{"on line ", "line ", "line: "} {
			if d := countDigits(strings.TrimPrefix(rest[skip:], word)); d > 0 && strings.HasPrefix(rest[skip:], word) {
				n = skip + len(word) + d
				f.Line = atoi(rest[n-d : n])
			}
		}
	}
	return f, n
}

// lineBefore reads the "line 33 of file " before a file.
func lineBefore(s string) int {
	s = strings.TrimRight(s, `"' `)
	s, ok := strings.CutSuffix(s, " of file")
	at := strings.LastIndex(s, "line ")
	if !ok || at < 0 {
		return 0
	}
	return atoi(s[at+5 : at+5+countDigits(s[at+5:])])
}

// functionAt is the name around a place: "price, called at a.hs:3", "in price
// (shop)" behind it, "at price (a.clj:3)".
func functionAt(before, behind string) string {
	before = strings.TrimRight(before, ` ("'`)
	if s, ok := strings.CutSuffix(before, ", called at"); ok {
		return s[strings.LastIndexByte(s, ' ')+1:]
	}
	for _, end := range [...]string{" in file", " at", ", in"} {
		if s, ok := strings.CutSuffix(before, end); ok {
			before = s
		}
	}
	if _, rest, ok := strings.Cut(" "+behind, " in "); ok && len(behind)-len(rest) < 40 {
		rest = strings.TrimLeft(rest, "'`\"")
		if n := identLen(rest); n > 0 {
			return rest[:n]
		}
	}
	if behind != "" && behind[0] == ' ' && identLen(behind[1:]) == len(behind)-1 {
		return behind[1:]
	}
	if name := before[strings.LastIndexByte(before, ' ')+1:]; strings.Contains(name, ".") || strings.Contains(name, "/") {
		return name
	}
	return ""
}

// fileOr returns n when name looks like a file of a program, -1 otherwise.
func fileOr(name string, n int) int {
	if strings.Contains(name, "://") && !strings.HasPrefix(name, "res://") && !strings.HasPrefix(name, "file://") {
		return -1
	}
	b := base(name)
	dot := strings.LastIndexByte(b, '.')
	if dot < 0 {
		switch b {
		case "Makefile", "Dockerfile", "BUILD", "Jenkinsfile", "Rakefile", "Vagrantfile":
			return n
		}
		return -1
	}
	ext := b[dot+1:]
	if dot == 0 || ext == "" || len(ext) > 8 || ext[0] >= '0' && ext[0] <= '9' || b == name && isHost(name+":1") {
		return -1
	}
	for i := range len(ext) {
		if !isWord(ext[i]) || ext[i] == '_' {
			return -1
		}
	}
	return n
}

// placeBefore reads "file:12:3: ", "file(12,3): " and "file:12:3 - ".
func placeBefore(s string) (Frame, bool) {
	s = strings.TrimRight(s, " :-")
	if open := strings.LastIndexByte(s, '('); open > 0 && strings.HasSuffix(s, ")") {
		n := countDigits(s[open+1:])
		return Frame{File: strings.TrimSpace(s[:open]), Line: atoi(s[open+1 : open+1+n])}, n > 0
	}
	var numbers []string
	for len(numbers) < 2 {
		colon := strings.LastIndexByte(s, ':')
		if colon <= 0 || colon+1 == len(s) || countDigits(s[colon+1:]) != len(s)-colon-1 {
			break
		}
		numbers = append(numbers, s[colon+1:])
		s = s[:colon]
	}
	if len(numbers) == 0 || strings.ContainsAny(s, " \t") {
		return Frame{}, false
	}
	return Frame{File: s, Line: atoi(numbers[len(numbers)-1])}, true
}
