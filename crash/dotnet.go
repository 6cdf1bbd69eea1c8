package crash

import "strings"

// dotnet is C#, F# and Visual Basic on .NET, Mono and Unity.
func dotnet() language {
	return language{
		name: "dotnet", begins: netBegins, read: netRead,
		library: netLibrary, ignore: netIgnore, canonical: netCanonical,
		vague: netVague, kind: netKind, class: netClass,
	}
}

// netBegins passes frames in any of the runtime's languages (the header is then
// looked for above), and the headers of exceptions that carry others.
func netBegins(l string) bool {
	s := strings.TrimLeft(l, " \t")
	if len(s) < 8 {
		return false
	}
	switch s[0] {
	case 'U':
		if strings.HasPrefix(s, "Unhandled ") {
			return strings.HasPrefix(s, "Unhandled exception. ") || strings.HasPrefix(s, "Unhandled Exception: ")
		}
	case 'S', 'M':
		if strings.HasPrefix(s, "System.") || strings.HasPrefix(s, "Microsoft.") {
			_, _, ok := netHeader(s)
			return ok
		}
	}
	return (l[0] == ' ' || l[0] == '\t' || s[0] == 'a') && netAt(s) != ""
}

// netAt cuts the word for "at" from a frame; "" when l has none.
func netAt(s string) string {
	for _, at := range [...]string{"at ", "à ", "bei ", "в ", "en ", "em ", "in ", "w ", "v ", "na ", "bij ", "vid ", "ved ", "kohteessa ", "konum: ", "在 ", "於 ", "場所 ", "위치: "} {
		if rest, ok := strings.CutPrefix(s, at); ok {
			return strings.TrimLeft(rest, " ")
		}
	}
	return ""
}

// netHeader splits "System.IO.IOException: message" at the type.
func netHeader(s string) (typ, message string, ok bool) {
	n, depth := 0, 0
	for ; n < len(s); n++ {
		c := s[n]
		if c == '[' || c == '<' {
			depth++
		} else if c == ']' || c == '>' {
			depth--
		} else if !isWord(c) && c != '.' && c != '+' && c != '`' && (depth == 0 || c != ',' && c != ' ') {
			break
		}
	}
	typ = s[:n]
	rest := s[n:]
	typ, _, _ = strings.Cut(typ, "`")
	typ, _, _ = strings.Cut(typ, "[")
	typ, _, _ = strings.Cut(typ, "<")
	last := typ[strings.LastIndexAny(typ, ".+")+1:]
	if !strings.HasSuffix(last, "Exception") && !strings.HasSuffix(last, "Error") && !strings.HasSuffix(last, "Fault") && !strings.HasSuffix(last, "Failure") {
		return "", "", false
	}
	if strings.HasPrefix(rest, " (0x") || strings.HasPrefix(rest, " (") && netCoded(rest) { // Win32Exception (0x80004005): message
		rest = rest[strings.IndexByte(rest, ')')+1:]
	}
	if strings.HasPrefix(rest, " : ") { // test runners'
		rest = rest[1:]
	}
	if rest != "" && rest[0] != ':' && !strings.HasPrefix(rest, " --->") {
		return "", "", false
	}
	return typ, strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " "), true
}

// netCoded reports " (10061): ", the number that some types print.
func netCoded(s string) bool {
	end := strings.IndexByte(s, ')')
	return end > 2 && allDigits(strings.TrimPrefix(s[2:end], "-"))
}

// netWithin finds a header anywhere in a line: behind "Unhandled exception.",
// a log message, "Exception Info:".
func netWithin(l string) (typ, message string, ok bool) {
	s := strings.TrimLeft(l, " \t")
	if typ, message, ok = netHeader(s); ok {
		return typ, message, true
	}
	for from := 0; from < len(s); {
		k := indexAnyOf(s[from:], "Exception", "Error")
		if k < 0 {
			return "", "", false
		}
		start := from + k
		for start > 0 && (isWord(s[start-1]) || s[start-1] == '.' || s[start-1] == '+') {
			start--
		}
		if start == 0 || strings.IndexByte(" \t:([\"'=>|,", s[start-1]) >= 0 {
			typ, message, ok = netHeader(s[start:])
			if ok && (strings.Contains(typ, ".") || message != "" && len(typ) > len("Exception")) {
				return typ, message, true
			}
		}
		from += k + 5
	}
	return "", "", false
}

// netVague are the types whose cause is told by a code, where there is one.
func netVague(typ string) bool {
	switch typ {
	case "System.Exception", "System.ApplicationException", "System.SystemException", "System.InvalidOperationException",
		"System.Net.Http.HttpRequestException", "System.Net.WebException", "System.Net.Sockets.SocketException", "System.ComponentModel.Win32Exception":
		return true
	}
	return false
}

// netKind is the type without its namespace where runtimes differ in printing
// one (Unity prints none).
func netKind(e exception) string {
	switch rest, ok := strings.CutPrefix(e.typ, "System."); {
	case ok && !strings.Contains(rest, "."):
		return rest
	case e.typ == "System.Net.Internals.SocketExceptionFactory+ExtendedSocketException",
		e.typ == "System.Net.Internals.SocketExceptionFactory.ExtendedSocketException":
		return "System.Net.Sockets.SocketException"
	}
	return e.typ
}

// netWraps reports types that only carry their cause.
func netWraps(typ string) bool {
	switch typ[strings.LastIndexByte(typ, '.')+1:] {
	case "AggregateException", "DbUpdateException", "TargetInvocationException", "TypeInitializationException", "ReflectionTypeLoadException", "XamlParseException", "DependencyResolutionException":
		return true
	}
	return false
}

// netClass is what a type and its message say beyond an ordinary bug.
func netClass(e exception) string {
	switch e.typ[strings.LastIndexAny(e.typ, ".+")+1:] {
	case "OutOfMemoryException", "InsufficientMemoryException":
		return "oom"
	case "SocketException", "ExtendedSocketException", "BrokerUnreachableException", "RedisConnectionException", "MongoConnectionException":
		return "outage"
	case "HttpRequestException", "WebException", "NpgsqlException", "SqlException", "MySqlException", "IOException":
		if unreachable(e.message) {
			return "outage"
		}
	}
	return ""
}
