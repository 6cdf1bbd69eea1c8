package crash

import "strings"

// javaFrame parses "at loader//module/pkg.Class.method(File.java:12) ~[jar]".
func javaFrame(l string) (Frame, bool) {
	s, ok := afterAt(l)
	if !ok {
		return javaListed(l)
	}
	open := strings.IndexByte(s, '(')
	if open < 3 {
		return Frame{}, false
	}
	size := strings.IndexByte(s[open:], ')')
	if size < 1 {
		return Frame{}, false
	}
	file, line, ok := javaPlace(s[open+1 : open+size])
	if !ok {
		return Frame{}, false
	}
	name := javaUnloaded(s[:open])
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot+1 == len(name) {
		return Frame{}, false
	}
	// Test names of Kotlin and Groovy are sentences; nothing else has spaces.
	if sp := strings.IndexByte(name, ' '); sp >= 0 && (sp < dot || line == 0 || sp == len(name)-1) {
		return Frame{}, false
	}
	return Frame{File: file, Line: line, Function: name}, true
}

// javaListed parses a frame as crash reporters list it, without its at:
// "pkg.Class.method (File.java:12)".
func javaListed(l string) (Frame, bool) {
	s := strings.TrimSpace(l)
	if len(s) < 12 || s[len(s)-1] != ')' || !proseLetter(s[0]) {
		return Frame{}, false
	}
	open := strings.LastIndexByte(s, '(')
	if open < 5 || strings.IndexByte(s[:open-1], ' ') >= 0 || strings.Count(s[:open], ".") < 2 {
		return Frame{}, false
	}
	file, line, ok := javaPlace(s[open+1 : len(s)-1])
	if !ok || line == 0 || !javaSource(file) {
		return Frame{}, false
	}
	return Frame{File: file, Line: line, Function: strings.TrimRight(s[:open], " ")}, true
}

// javaPlace splits what is in a frame's parentheses.
func javaPlace(s string) (file string, line int, ok bool) {
	switch s {
	case "Native Method", "Unknown Source", "Compiled Code", "<generated>", ".dynamic", "D8$$SyntheticClass":
		return s, 0, true
	case "":
		return "", 0, false
	}
	file, row, found := strings.Cut(s, ":")
	if strings.ContainsAny(file, " /\\,<(") && file != "Unknown Source" {
		return "", 0, false
	}
	if !found {
		return file, 0, strings.LastIndexByte(file, '.') > 0 && javaSource(file)
	}
	if row == "" && javaSource(file) {
		return file, 0, true
	}
	if !allDigits(row) {
		return "", 0, false
	}
	return file, lineNumber(row), true
}

// javaSource reports whether a file's name is that of a JVM language's.
func javaSource(file string) bool {
	return endsWith(file, ".java", ".kt", ".scala", ".groovy", ".clj", ".kts", ".gradle", ".jsp", ".rb", ".js", ".cljc", ".mixin", "Source")
}

// javaUnloaded cuts loaders, modules and layers from a name: app//, knot//,
// java.base@17.0.1/, TRANSFORMER/forge@47.1.0/. A slash also stands in the
// names of hidden classes: Foo$$Lambda/0x00007f.apply.
func javaUnloaded(name string) string {
	for {
		i := strings.IndexByte(name, '/')
		if i < 0 || strings.HasPrefix(name[i+1:], "0x") || strings.Contains(name[:i], "$$Lambda") {
			return name
		}
		name = name[i+1:]
	}
}

// javaCanonical names a frame by class and method alone: the file's name
// follows from the class, and obfuscated or stripped builds do not print it.
func javaCanonical(f Frame) Frame {
	return Frame{Line: f.Line, Function: javaFunction(f.Function)}
}

// javaFunction folds what compilers and mixins make of one method: lambdas,
// closures, anonymous classes and numbered accessors are put where their
// source stands.
func javaFunction(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name
	}
	class, method := name[:dot], name[dot+1:]
	if i := strings.Index(class, "$$Lambda"); i >= 0 {
		class = class[:i]
	}
	if m := javaMethod(method); m != "" {
		method = m
	} else if strings.Contains(method, "$") {
		method = "lambda"
	}
	class, inner := javaClassName(class)
	if inner != "" {
		method = inner
	}
	return class + "." + method
}

// javaClassName drops numbers and synthetic parts from a class's name, and
// returns the method that a closure's class is named after.
func javaClassName(class string) (outer, method string) {
	parts := strings.Split(class, "$")
	outer = parts[0]
	for _, p := range parts[1:] {
		p = strings.TrimPrefix(p, "_")
		if i := strings.Index(p, "_closure"); i > 0 {
			p = p[:i]
		}
		if i := strings.Index(p, "__"); i > 0 && allDigits(p[i+2:]) {
			p = p[:i] // Clojure's fn__123
		}
		switch {
		case p == "", allDigits(p), p == "anonfun", p == "fn", p == "eval", strings.HasPrefix(p, "closure"), strings.HasPrefix(p, "Lambda"), strings.HasPrefix(p, "lambda-"):
		case p[0] >= 'a' && p[0] <= 'z':
			if method == "" && p != "lambda" && p != "inlined" {
				method = javaPlain(p)
			}
		default:
			outer += "$" + p
		}
	}
	return outer, method
}

// javaMethod finds the source's method in lambda$main$0, $anonfun$main$1,
// main$lambda-0, load$default, handler$zza000$mod$tick; "" when none is named.
func javaMethod(m string) string {
	if !strings.Contains(m, "$") {
		return javaPlain(m)
	}
	parts := strings.Split(m, "$")
	if len(parts) > 2 && len(parts[1]) == 6 && allDigits(parts[1][3:]) && javaMixin(parts[0]) {
		return strings.Join(parts[2:], "$")
	}
	for _, p := range parts {
		switch {
		case p == "", allDigits(p), p == "anonfun", p == "lambda", p == "access", p == "null", p == "r8", p == "default", strings.HasPrefix(p, "lambda-"), strings.HasPrefix(p, "adapted"):
		case p == "new":
			return "<init>"
		case p == "static":
			return "<clinit>"
		default:
			return javaPlain(p)
		}
	}
	return ""
}

// javaPlain cuts the hash of a Kotlin name that has inline classes.
func javaPlain(m string) string {
	if i := strings.IndexByte(m, '-'); i > 0 && !strings.Contains(m, " ") {
		return m[:i]
	}
	return m
}

// javaMixin are the kinds of code that a mixin puts into another's class.
func javaMixin(kind string) bool {
	switch kind {
	case "handler", "redirect", "modify", "wrapOperation", "wrapWithCondition", "localvar", "constant", "inject",
		"modifyReturnValue", "modifyExpressionValue", "wrapMethod", "bridge":
		return true
	}
	return false
}
