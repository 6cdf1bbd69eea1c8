package crash

import "strings"

// netFrame parses a frame as the runtime, Mono and Demystifier print
// it, in any language:
//
//	at Shop.Cart.Add(Item item) in /src/Cart.cs:line 12
//	bei Shop.Cart.Add(Item item) in C:\src\Cart.cs:Zeile 12.
//	at Shop.Cart.Add (Shop.Item item) [0x00012] in /src/Cart.cs:12
//	at async Task<int> Shop.Cart.Add(Item item)+(int x) => { } in Cart.cs:line 12
func netFrame(l string) (Frame, bool) {
	trimmed := strings.TrimLeft(l, " \t")
	s := netAt(trimmed)
	if s == "" {
		return Frame{}, false
	}
	s = strings.TrimRight(s, " \t\r")
	s = strings.TrimPrefix(s, "(wrapper ")
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, "filename unknown>:0") { // no metadata at all
		return Frame{}, false
	}
	open := netArguments(s)
	if open <= 0 {
		return netBare(s)
	}
	end := netClose(s, open)
	if end < 0 {
		return Frame{}, false
	}
	inner := s[open+1 : end]
	if netForeign(inner) {
		return Frame{}, false
	}
	name := strings.TrimRight(s[:open], " ")
	name = netDeclared(name)
	if !strings.ContainsAny(name, ".:") || strings.ContainsAny(name, "/\\\"'") || len(name) < 3 {
		return Frame{}, false
	}
	if at := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "abcdefghijklmnopqrstuvwxyz"))]; at != "at" && !netNamed(name) {
		return Frame{}, false // a sentence in that language
	}
	file, line := netFile(s[end+1:])
	return Frame{File: file, Line: line, Function: netDotted(name)}, true
}

// netArguments is where the arguments begin: at the first parenthesis outside
// of brackets. Demystifier's return types may be tuples, which begin with one.
func netArguments(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<', '[':
			depth++
		case '>', ']':
			if depth > 0 {
				depth--
			}
		case '(':
			if depth == 0 && i > 0 && s[i-1] != ' ' || depth == 0 && i > 1 && s[i-1] == ' ' && (isWord(s[i-2]) || s[i-2] == ']' || s[i-2] == '>') && !netModifier(s[:i-1]) {
				return i
			}
		}
	}
	return -1
}

// netModifier reports whether all before a parenthesis are words that stand
// before a return type.
func netModifier(s string) bool {
	switch strings.TrimSpace(s) {
	case "async", "static", "async static", "ref", "override":
		return true
	}
	return false
}

// netClose is the parenthesis that ends the arguments.
func netClose(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// netForeign reports what stands in the parentheses of Java's and V8's frames.
func netForeign(s string) bool {
	switch s {
	case "Native Method", "Unknown Source", "native", "<anonymous>":
		return true
	}
	i := strings.LastIndexByte(s, ':')
	if i >= 0 && allDigits(s[i+1:]) {
		return true
	}
	return !strings.Contains(s, " ") && (strings.HasSuffix(s, ".java") || strings.HasSuffix(s, ".kt") || strings.HasSuffix(s, ".scala") || strings.HasSuffix(s, ".js"))
}

// netBare accepts a frame without arguments when it has a place.
func netBare(s string) (Frame, bool) {
	name, place, ok := strings.Cut(s, " in ")
	if !ok || !netNamed(name) {
		return Frame{}, false
	}
	file, line := netFile(" in " + place)
	return Frame{File: file, Line: line, Function: netDotted(name)}, line > 0
}

// netNamed reports a qualified name of C#.
func netNamed(s string) bool {
	if !strings.Contains(s, ".") && !strings.Contains(s, ":") {
		return false
	}
	for _, r := range s {
		switch r {
		case ' ', '/', '"', '\'', '!', '?':
			return false
		}
	}
	return true
}

// netFile finds the file and the line behind the arguments: " in /x.cs:line
// 12", "[0x0001] in /x.cs:12", " dans C:\x.cs:ligne 12", " 位置 C:\x.cs:行号 12".
func netFile(s string) (string, int) {
	if k := strings.Index(s, " in "); k > 0 {
		s = s[k:] // Mono's offset, Demystifier's lambda
	}
	s = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s, " \r\t"), "<---"), " .\r\t") // Mono's end of an inner exception
	n := len(s)
	for n > 0 && s[n-1] >= '0' && s[n-1] <= '9' {
		n--
	}
	line := lineNumber(s[n:])
	colon := strings.LastIndexByte(s[:n], ':')
	if n == len(s) || colon < 0 || strings.ContainsAny(s[colon+1:n], `/\.`) {
		return "", 0
	}
	place := s[:colon]
	// The path begins behind the word for "in": at a drive, a slash, or a space.
	if i := strings.Index(place, `:\`); i > 0 {
		place = place[i-1:]
	} else if i := strings.Index(place, "/"); i > 0 && place[i-1] == ' ' {
		place = place[i:]
	} else if i := strings.IndexByte(strings.TrimLeft(place, " "), ' '); i >= 0 {
		place = strings.TrimLeft(place, " ")[i+1:]
	}
	if strings.HasPrefix(place, "<") {
		return "", 0 // <filename unknown>, a module's hash
	}
	return strings.TrimSpace(place), line
}

// netDeclared cuts what Demystifier and Mono print before a name: modifiers,
// the return type.
func netDeclared(name string) string {
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '>', ']', ')':
			depth++
		case '<', '[', '(':
			depth--
		case ' ':
			if depth <= 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// netDotted writes a name as C# does: Mono separates the method by a colon and
// nested types by a slash or a plus.
func netDotted(name string) string {
	return strings.NewReplacer("::", ".", ":", ".", "+", ".").Replace(name)
}
