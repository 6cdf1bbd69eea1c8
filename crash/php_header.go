package crash

import "strings"

// phpLevels are the words that PHP puts before what it says.
var phpLevels = []string{
	"Catchable fatal error: ", "Recoverable fatal error: ", "Fatal error: ", "Parse error: ",
}

// phpLevel returns the level in a line that ends the program, without its colon.
func phpLevel(l string) string {
	for _, s := range phpLevels {
		if strings.Contains(l, s) && (s != "Fatal error: " || phpSaysFatal(l)) {
			return s[:len(s)-2]
		}
	}
	return ""
}

// phpSaysFatal tells PHP's fatal errors from other programs'.
func phpSaysFatal(l string) bool {
	at := strings.Index(l, "Fatal error: ")
	if strings.HasPrefix(l[at:], "Fatal error: exception ") { // OCaml's
		return false
	}
	return at == 0 || strings.HasSuffix(l[:at], "PHP ") || strings.Contains(l, ".php") || strings.TrimSpace(l[:at]) == ""
}

// phpPlaced reports a line that ends with PHP's way of naming a place, and
// names a level or a type before it.
func phpPlaced(l string) bool {
	if !strings.Contains(l, " in ") && !strings.Contains(l, " at ") && !strings.Contains(l, "(line ") {
		return false
	}
	e, f, ok := phpHeader(l)
	return ok && (e.typ != "" && f.File != "")
}

// phpHeader reads an error's or an exception's own text, which ends with its
// place.
func phpHeader(s string) (e exception, f Frame, ok bool) {
	if at := strings.Index(s, "[object] ("); at >= 0 {
		return phpObject(s[at+len("[object] ("):])
	}
	if at := strings.Index(s, " Stack trace:"); at > 0 {
		s = s[:at]
	}
	level := phpLevel(s)
	switch {
	case level != "":
		_, s, _ = strings.Cut(s, level+": ")
		e.typ = level
	default:
		for _, w := range []string{"Warning: ", "Notice: ", "Deprecated: "} {
			if at := strings.Index(s, w); at >= 0 && (at == 0 || strings.HasSuffix(s[:at], "PHP ")) {
				e.typ, s = w[:len(w)-2], s[at+len(w):]
				break
			}
		}
	}
	s = strings.TrimSpace(s)
	thrown := strings.HasPrefix(s, "Next ") || strings.Contains(s, "Uncaught ")
	if _, rest, is := strings.Cut(s, "Uncaught PHP Exception "); is {
		s = rest
	} else if at := strings.Index(s, "Uncaught "); at >= 0 && (at == 0 || s[at-1] == ' ' || s[at-1] == '\n') {
		s = strings.TrimPrefix(s[at+len("Uncaught "):], "(exception) ")
	} else if e.typ == "" {
		s = strings.TrimPrefix(s, "Next ")
		if at := strings.Index(s, "xception '"); at > 0 && strings.Contains(s[at:], "' with message '") {
			s = s[at-1:]
		}
	}
	s, f, placed := phpPlace(s)
	if quoted, is := strings.CutPrefix(s[min(1, len(s)):], "xception '"); is {
		typ, msg, _ := strings.Cut(quoted, "' with message '")
		e.typ, e.message = typ, strings.TrimSuffix(msg, "'")
		return e, f, true
	}
	if typ, msg, is := strings.Cut(s, ":"); is && (phpType(typ) || thrown && phpConstant(typ)) && (e.typ == "" || strings.HasPrefix(msg, " ") || msg == "") {
		if e.typ, s = typ, strings.TrimSpace(msg); strings.HasSuffix(s, `"`) { // Symfony's quote the whole
			s = strings.Trim(s, `"`)
		}
	} else if e.typ == "Fatal error" && phpType(s) && placed && s != "" {
		e.typ, s = s, ""
	}
	e.message = strings.TrimSpace(s)
	return e, f, placed || level != ""
}

// phpConstant reports names of any class.
func phpConstant(s string) bool {
	return rubyConstant(s) && !strings.Contains(s, ":")
}

// phpType reports names of classes that a program may throw.
func phpType(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	if strings.HasPrefix(s, "class@anonymous") {
		return true
	}
	return only(s, func(c byte) bool { return isIdentByte(c) || c == '\\' }) && (strings.Contains(s, `\`) || pyStrong(s))
}

// phpPlace splits "message in /x.php:3" and its kin.
func phpPlace(s string) (message string, f Frame, ok bool) {
	s = strings.TrimRight(s, " \t.\"")
	if at := strings.LastIndex(s, "(line "); at > 0 { // Drupal: in X->f() (line 3 of /x.php)
		n, rest, digits := leadingNumber(s[at+len("(line "):])
		if file, of := strings.CutPrefix(rest, " of "); digits && of {
			message, fn := s[:at], ""
			if in := strings.LastIndex(message, " in "); in >= 0 {
				message, fn = message[:in], message[in+len(" in "):]
			}
			return message, Frame{File: strings.TrimRight(file, "). "), Line: n, Function: strings.TrimSpace(fn)}, true
		}
	}
	for _, sep := range []string{" in ", " at "} {
		for end := len(s); ; {
			at := strings.LastIndex(s[:end], sep)
			if at < 0 {
				break
			}
			if f, ok := phpFile(s[at+len(sep):]); ok {
				return s[:at], f, true
			}
			if end = at; len(s)-at > 1024 {
				break
			}
		}
	}
	return s, Frame{}, false
}

// phpFile reads /x.php:3, "/x.php on line 3", "/x.php line 3" and what eval
// adds.
func phpFile(s string) (Frame, bool) {
	for _, sep := range []string{" on line ", " line ", ":"} {
		at := strings.LastIndex(s, sep)
		if at < 1 {
			continue
		}
		n, rest, ok := leadingNumber(s[at+len(sep):])
		if rest != "" && strings.TrimLeft(rest, ` ,"{[`) == rest {
			ok = false
		}
		file := s[:at]
		if ok && phpIsFile(file) {
			return phpEvaluated(Frame{File: file, Line: n}), true
		}
	}
	return Frame{}, false
}

func phpIsFile(s string) bool {
	p := slashed(s)
	return !strings.Contains(s, "\n") && strings.Count(s, " ") < 8 &&
		(spoken(p, ".php", ".inc", ".module", ".phtml", ".tpl", ".install", "eval()'d", ".phar", "command line code", "standard input") || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "unknown"))
}

// phpEvaluated takes the place of an eval for the place inside.
func phpEvaluated(f Frame) Frame {
	if file, _, ok := strings.Cut(f.File, ") : "); ok {
		if open := strings.LastIndexByte(file, '('); open > 0 {
			if n, rest, ok := leadingNumber(file[open+1:]); ok && rest == "" {
				f.File, f.Line = file[:open], n
			}
		}
	}
	return f
}

// phpObject reads Monolog's T(code: 0): message at /x.php:3).
func phpObject(s string) (e exception, f Frame, ok bool) {
	typ, rest, ok := strings.Cut(s, "(code: ")
	if !ok {
		return e, f, false
	}
	_, rest, _ = strings.Cut(rest, "): ")
	if at := strings.Index(rest, `)"}`); at >= 0 {
		rest = rest[:at]
	}
	if at := strings.Index(rest, `\n[stacktrace]`); at >= 0 {
		rest = rest[:at]
	}
	rest = strings.TrimSuffix(strings.TrimRight(rest, " "), ")")
	msg, f, placed := phpPlace(rest)
	return exception{typ: strings.ReplaceAll(typ, `\\`, `\`), message: msg}, f, placed || strings.HasSuffix(rest, "at ")
}
