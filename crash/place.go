package crash

import "strings"

// placeIn returns the first place that l names, in one of its common shapes,
// and where in l it is:
//
//	a.c:33:5   a.cs(33,5)   A.java:[33,12]   "a.ml", line 33   line 33 of file a.f90   {file,"a.erl"},{line,33}
func placeIn(l string) (f Frame, from, end int) {
	if !mayPlace(l) {
		return Frame{}, 0, 0
	}
	l = strings.ReplaceAll(l, "/…/", "/.../") // Flutter's; the three dots are as long
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
		if f, n := placeOf(l[:from], l[from:i], l[i:]); n >= 0 {
			f.Function = functionAt(l[:from], l[i+n:])
			return f, from, i + n
		}
	}
	return Frame{}, 0, 0
}

// mayPlace is the quick look at a line: most have no number where a line's is.
func mayPlace(l string) bool {
	for i := 1; i < len(l); i++ {
		if c := l[i-1]; l[i] >= '0' && l[i] <= '9' && (c == ':' || c == '(' || c == '[' || c == ' ' && i > 1 && l[i-2] == ' ') {
			return true
		}
	}
	return strings.Contains(l, "line")
}

func isPathByte(c byte) bool { return isWord(c) || strings.IndexByte(`./\:@%+~-$#`, c) >= 0 }

// placeOf reads a token and what stands around it; n is how much of what is
// behind belongs to it, -1 when the token is no file with a line.
func placeOf(before, token, rest string) (f Frame, n int) {
	name := strings.TrimRight(token, ":.-")
	if g, ok := placeBefore(name); ok {
		name, f = g.File, g
	} else if f.File = name; len(rest) > 1 && (rest[0] == '(' || rest[0] == '[') {
		f.Line = atoi(rest[1:])
		if end := strings.IndexAny(rest, ")]"); end > 0 {
			n = end + 1
		}
	} else if f.Line, n = lineBehind(rest); f.Line == 0 {
		f.Line = lineBefore(before)
	}
	if f.Line == 0 || !isFile(name) {
		return Frame{}, -1
	}
	return f, n
}

// lineBehind reads ", line 33", " on line 33", ": line: 33" and webpack's " 2:0-32".
func lineBehind(rest string) (line, n int) {
	if n, ok := strings.CutPrefix(rest, `"},{line,`); ok { // Erlang's
		d := countDigits(n)
		return atoi(n[:d]), len(rest) - len(n) + d
	}
	s := strings.TrimLeft(strings.TrimPrefix(rest, `" (inlined)`), "\"', :")
	skip := len(rest) - len(s)
	if skip == 0 || s == "" || s[0] != 'l' && s[0] != 'o' && (s[0] < '0' || s[0] > '9') {
		return 0, 0
	}
	d := countDigits(s)
	if d > 0 && len(s) > d+1 && s[d] == ':' && countDigits(s[d+1:]) > 0 {
		return atoi(s), skip + d + 1 + countDigits(s[d+1:])
	}
	words := strings.TrimPrefix(s, "on ")
	number := strings.TrimLeft(strings.TrimPrefix(words, "line"), ": ")
	if d = countDigits(number); d == 0 || number == words {
		return 0, 0
	}
	return atoi(number[:d]), len(rest) - len(number) + d
}

// lineBefore reads the "line 33 of file " before a file.
func lineBefore(s string) int {
	if row := strings.TrimRight(s, " "); len(row)+2 <= len(s) { // a table's row: step_  33  a.f90
		if name := strings.TrimRight(row, "0123456789"); strings.HasSuffix(name, "  ") {
			return atoi(row[len(name):])
		}
	}
	s, _ = strings.CutSuffix(strings.TrimRight(s, `"' `), " file")
	if folder := strings.LastIndex(s, " ["); strings.HasSuffix(s, "]") && folder > 0 { // line 33 of [PROJECT_ROOT]/a.rb
		s = s[:folder]
	}
	s, ok := strings.CutSuffix(s, " of")
	if !ok {
		return 0
	}
	at := strings.LastIndex(s, "line ")
	if at < 0 {
		return 0
	}
	return atoi(s[at+5:])
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
	if name := before[strings.LastIndexByte(before, ' ')+1:]; !strings.HasSuffix(name, ":") && strings.ContainsAny(name, "./") {
		return name
	}
	return ""
}

// isFile reports what looks like a file of a program.
func isFile(name string) bool {
	if strings.Contains(name, "://") && !strings.HasPrefix(name, "res://") && !strings.HasPrefix(name, "file://") {
		return false
	}
	b := base(name)
	dot := strings.LastIndexByte(b, '.')
	if dot < 0 {
		return listed(" Makefile Dockerfile BUILD Jenkinsfile Rakefile Vagrantfile ", b)
	}
	ext := b[dot+1:]
	if dot == 0 || ext == "" || len(ext) > 8 || ext[0] >= '0' && ext[0] <= '9' || b == name && isHost(name+":1") {
		return false
	}
	return !strings.ContainsFunc(ext, func(r rune) bool { return !isWord(byte(r)) || r == '_' || r >= 0x80 })
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
