package crash

import "strings"

// dart is Dart and Flutter.
func dart() language {
	return language{
		name: "dart", begins: dartBegins, signs: []string{".dart", "(dart:", "(package:"}, read: dartRead,
		library: dartLibrary, ignore: dartIgnore, canonical: dartCanonical,
		vague: func(typ string) bool { return typ == "Exception" || typ == "Error" || typ == "PlatformException" },
	}
}

// dartBegins passes the first frame; the words are looked for above it.
func dartBegins(l string) bool {
	s := strings.TrimLeft(l, " \t")
	return strings.HasPrefix(s, "#0 ") && (strings.Contains(s, ".dart") || strings.Contains(s, "(dart:") || strings.Contains(s, "(package:"))
}

func dartRead(lines []string, i int) (trace, int, bool) {
	e := exception{}
	k := i
	for k < len(lines) && len(e.frames) < maxFrames {
		f, ok := dartFrame(lines[k])
		if !ok && strings.TrimSpace(lines[k]) != "<asynchronous suspension>" {
			break
		}
		if ok {
			e.frames = append(e.frames, f)
		}
		k++
	}
	if len(e.frames) == 0 {
		return trace{}, 0, false
	}
	t := trace{}
	e.typ, e.message, t.fatal = dartSaid(lines, i)
	t.chain = []exception{e}
	withoutRuntime(t.chain, func(f Frame) bool { return !dartLibrary(f) }, dartRuntime)
	switch e.typ {
	case "SocketException":
		t.class = "outage"
	case "OutOfMemoryError":
		t.class = "oom"
	}
	return t, k, true
}

// dartFrame parses "#1      Cart.add (package:shop/cart.dart:12:5)".
func dartFrame(l string) (Frame, bool) {
	s := strings.TrimSpace(l)
	if len(s) < 8 || s[0] != '#' || s[1] < '0' || s[1] > '9' || s[len(s)-1] != ')' {
		return Frame{}, false
	}
	_, s, _ = strings.Cut(s, " ")
	open := strings.LastIndex(s, " (")
	if open < 0 {
		return Frame{}, false
	}
	file := s[open+2 : len(s)-1]
	f := Frame{File: file, Function: strings.TrimSpace(s[:open])}
	for range 2 { // the column, then the line
		if rest, n, ok := nodeCutNumber(f.File); ok {
			f.File, f.Line = rest, n
		}
	}
	return f, strings.Contains(f.File, ":") || strings.HasSuffix(f.File, ".dart")
}

// dartSaid finds the words above the stack that begins at lines[i].
func dartSaid(lines []string, i int) (typ, message string, fatal bool) {
	nearest := ""
	for k := i - 1; k >= 0 && k >= i-maxHeaderGap; k-- {
		s := strings.TrimSpace(lines[k])
		if _, ok := dartFrame(s); ok {
			break
		}
		if _, rest, ok := strings.Cut(s, "Unhandled Exception: "); ok {
			typ, message = dartType(rest)
			return typ, message, true
		}
		if strings.EqualFold(s, "Unhandled exception:") && nearest != "" {
			typ, message = dartType(nearest)
			return typ, message, true
		}
		if rest, ok := strings.CutPrefix(s, "The following "); ok && strings.Contains(rest, " was thrown") {
			typ, _, _ = strings.Cut(rest, " ")
			if k+1 < i {
				message = strings.TrimSpace(lines[k+1])
			}
			return typ, message, true
		}
		if s != "" && !strings.HasPrefix(s, "When the exception was thrown") {
			nearest = s
		}
	}
	if i > 0 {
		nearest = strings.TrimSpace(lines[i-1])
	}
	typ, message = dartType(nearest)
	return typ, message, false
}

// dartType gives words their type: most of the core errors print none.
func dartType(s string) (typ, message string) {
	for _, p := range [...]struct{ words, typ string }{
		{"type '", "TypeError"},
		{"Null check operator", "TypeError"},
		{"Bad state: ", "StateError"},
		{"Invalid argument(s)", "ArgumentError"},
		{"Unsupported operation: ", "UnsupportedError"},
		{"Concurrent modification", "ConcurrentModificationError"},
		{"Stack Overflow", "StackOverflowError"},
		{"Out of Memory", "OutOfMemoryError"},
	} {
		if strings.HasPrefix(s, p.words) {
			return p.typ, s
		}
	}
	if strings.Contains(s, "Failed assertion: ") {
		return "AssertionError", s
	}
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	if n > 3 && n < len(s) && (s[n] == ':' || s[n] == '(' || strings.HasPrefix(s[n:], " (")) && s[0] >= 'A' && s[0] <= 'Z' {
		return s[:n], strings.TrimLeft(s[n:], ": ")
	}
	return "Exception", s
}

func dartRuntime(f Frame) bool { return strings.HasPrefix(f.File, "dart:") || f.File == "" }

// dartLibrary reports the SDK, Flutter, and whatever pub fetched. A package's
// own name cannot be told from another's, so only the common ones are known.
func dartLibrary(f Frame) bool {
	if dartRuntime(f) || strings.Contains(f.File, ".pub-cache/") || strings.Contains(f.File, `\Pub\Cache\`) {
		return true
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(f.File, "package:"), "/")
	switch name {
	case "flutter", "flutter_test", "async", "collection", "http", "dio", "bloc", "flutter_bloc", "provider", "riverpod", "flutter_riverpod", "get",
		"go_router", "sqflite", "hive", "drift", "shared_preferences", "path_provider", "test", "test_api", "stack_trace", "rxdart", "firebase_core",
		"cloud_firestore", "firebase_auth", "image_picker", "intl", "json_annotation", "args", "path", "shelf", "grpc", "protobuf", "mobx", "web_socket_channel":
		return strings.HasPrefix(f.File, "package:")
	}
	return false
}

func dartIgnore(f Frame) bool {
	return strings.HasPrefix(f.Function, "_TypeError._throwNew") || strings.HasPrefix(f.Function, "Object.noSuchMethod") || strings.HasPrefix(f.Function, "_AssertionError._")
}

// dartCanonical drops closures: they stand in the function that made them.
func dartCanonical(f Frame) Frame {
	name := f.Function
	if i := strings.Index(name, ".<anonymous closure"); i > 0 {
		name = name[:i]
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "new "), ".<fn>")
	return Frame{File: f.File, Line: f.Line, Function: strings.TrimSuffix(name, " (async)")}
}
