package crash

import "strings"

// java is Java, Kotlin, Scala and everything else on the JVM, also Android's.
func java() language {
	return language{
		name: "java", begins: javaBegins, read: javaRead,
		library: javaLibrary, ignore: javaIgnore, canonical: javaCanonical,
		vague: javaVague, kind: javaKind, class: javaClass,
	}
}

// javaBegins passes frames (the header is then looked for above: behind a log
// message, across a message of several lines) and headers at the line's start.
func javaBegins(l string) bool {
	s := strings.TrimLeft(l, " \t#")
	if len(s) < 8 {
		return false
	}
	switch c := s[0]; {
	case c == 'a' && strings.HasPrefix(s, "at "):
		return true
	case c == 'E' && strings.HasPrefix(s, "Exception in thread "):
		return true
	case c == 'A' && strings.HasPrefix(s, "A fatal error has been detected by the Java Runtime"),
		c == 'T' && strings.HasPrefix(s, "There is insufficient memory for the Java Runtime"),
		c == 'A' && strings.HasPrefix(s, "APPLICATION FAILED TO START"):
		return true
	case c == 'C' && strings.HasPrefix(s, "Caused by"), c == 'F' && strings.HasPrefix(s, "Fatal Exception: "):
		return true
	case c >= 'a' && c <= 'z':
		if javaClassed(s) {
			if typ, _, ok := javaHeader(s); ok && javaThrowable(typ) {
				return true
			}
		}
	}
	return len(l) > 120 && (strings.Contains(l, "\tat ") || strings.Contains(l, ") at ")) // all in one line
}

// javaClassed reports whether s begins with a package and a class: the quick
// look before the thorough one.
func javaClassed(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' || c == '/':
			if i+1 < len(s) && s[i+1] >= 'A' && s[i+1] <= 'Z' {
				return true
			}
		case c >= 'a' && c <= 'z', c == '_', c >= '0' && c <= '9', c == '$', c >= 'A' && c <= 'Z':
		default:
			return s[:i] == "class" // Class.toString
		}
	}
	return false
}

func javaRead(lines []string, i int) (trace, int, bool) {
	s := strings.TrimLeft(lines[i], " \t#")
	switch {
	case strings.HasPrefix(s, "A fatal error"), strings.HasPrefix(s, "There is insufficient"):
		return javaReadCrash(lines, i)
	case strings.HasPrefix(s, "APPLICATION FAILED"):
		return javaReadSpring(lines, i)
	}
	r := javaReader{lines: lines, at: i}
	if !r.begin() {
		return trace{}, 0, false
	}
	r.body()
	t := r.finish()
	return t, r.at, len(t.chain) > 0
}

// javaHeader splits "java.lang.IllegalStateException: message" at the type. The
// type is a qualified name; a class of the default package has to say by its
// name that it is thrown.
func javaHeader(s string) (typ, message string, ok bool) {
	s = strings.TrimPrefix(s, "class ") // some frameworks print Class.toString
	n := javaNameLen(s)
	typ = strings.TrimRight(s[:n], ".")
	rest := s[n:]
	if n < 3 || rest != "" && rest[0] != ':' && rest[0] != ' ' && rest[0] != '\r' && rest[0] != '(' && rest[0] != '[' && rest[0] != ';' {
		return "", "", false
	}
	last := typ[strings.LastIndexByte(typ, '.')+1:]
	if last == "JavaProxyThrowable" && strings.HasPrefix(rest, ": ") {
		return "", "", false // .NET's on Android
	}
	if k := strings.LastIndexByte(last, '$'); k >= 0 && k+1 < len(last) {
		last = last[k+1:]
	}
	if last == "" || len(last) == len(typ) && !javaThrowable(typ) {
		return "", "", false
	}
	if (last[0] < 'A' || last[0] > 'Z') && !strings.HasPrefix(last, "class_") {
		return "", "", false
	}
	if rest != "" && rest[0] == ' ' && !javaThrowable(typ) {
		return "", "", false // a sentence that begins with a dotted name
	}
	return typ, strings.TrimSpace(strings.TrimPrefix(rest, ":")), true
}

// javaNameLen is the length of the qualified name that s begins with.
func javaNameLen(s string) int {
	slash := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '$', c == '.', c >= 0x80:
		case c == '/' && slash == 0 && i > 0: // a loader before it: app//
			slash = i
		case c == '-' || c == '/':
			return 0
		default:
			return i
		}
	}
	return len(s)
}

// javaThrowable reports whether a class says by its name that it is thrown.
func javaThrowable(typ string) bool {
	last := typ[strings.LastIndexAny(typ, ".$")+1:]
	if endsWith(last, "Exception", "Error", "Throwable", "Failure", "Fault", "ThreadDeath", "Errors", "CancellationException", "Timeout", "Interrupt") {
		return last != "Error" && last != "Failure" && last != "Timeout" && last != "Fault" || len(last) < len(typ)
	}
	return strings.HasSuffix(last, "Exception$") || strings.HasSuffix(typ, "Exception$1")
}

// javaWithin finds a header anywhere in a line: behind "Exception in thread",
// a log message, a bracket.
func javaWithin(l string) (typ, message string, ok bool) {
	s := strings.TrimLeft(l, " \t>*|#")
	if rest, found := strings.CutPrefix(s, "Exception in thread "); found {
		if s = javaThread(rest); s == "" {
			return "", "", false // Python's, whose traceback is below
		}
	}
	for _, p := range []string{"Caused by: ", "Wrapped by: ", "Uncaught exception: "} {
		s = strings.TrimPrefix(s, p)
	}
	if typ, message, ok = javaHeader(s); ok {
		return typ, message, true
	}
	for from := 0; from < len(s); {
		k := indexAnyOf(s[from:], "Exception", "Error", "Throwable", "Failure")
		if k < 0 {
			return "", "", false
		}
		start := from + k
		for start > 0 && (javaNameLen(s[start-1:start]) == 1 || s[start-1] == '/') {
			start--
		}
		if typ, message, ok = javaHeader(s[start:]); ok && strings.Contains(typ, ".") && (start == 0 || strings.IndexByte(" \t:([<\"'=>|", s[start-1]) >= 0) {
			return typ, strings.TrimRight(message, "])>\"'"), true
		}
		from += k + 5
	}
	return "", "", false
}

// indexAnyOf is the first index of any of the words in s.
func indexAnyOf(s string, words ...string) int {
	best := -1
	for _, w := range words {
		if i := strings.Index(s, w); i >= 0 && (best < 0 || i < best) {
			best = i
		}
	}
	return best
}

// javaThread cuts the thread's name, which is quoted and may hold quotes.
func javaThread(s string) string {
	if !strings.HasPrefix(s, `"`) {
		_, rest, _ := strings.Cut(s, " ")
		return rest
	}
	for from := 1; ; {
		k := strings.Index(s[from:], `" `)
		if k < 0 {
			return ""
		}
		rest := strings.TrimLeft(s[from+k+2:], " ")
		if _, _, ok := javaHeader(rest); ok {
			return rest
		}
		from += k + 1
	}
}

// javaVague are the types whose cause is told by a code, where there is one.
func javaVague(typ string) bool {
	switch typ[strings.LastIndexByte(typ, '.')+1:] {
	case "Exception", "RuntimeException", "Error", "IOException", "SQLException", "IllegalStateException", "Throwable", "JavascriptException":
		return true
	}
	return false
}

// javaKind folds what differs between versions of one library: the loader in
// front, obfuscated names of proxies, relocated packages of exceptions whose
// simple name stayed.
func javaKind(e exception) string {
	t := e.typ[strings.LastIndexByte(e.typ, '/')+1:]
	switch {
	case strings.HasPrefix(t, "javax."):
		return "jakarta." + t[len("javax."):]
	case t == "com.mysql.jdbc.exceptions.jdbc4.CommunicationsException":
		return "com.mysql.cj.jdbc.exceptions.CommunicationsException"
	}
	return t
}

// javaWraps reports types that only carry their cause.
func javaWraps(typ string) bool {
	switch typ[strings.LastIndexByte(typ, '.')+1:] {
	case "ExecutionException", "CompletionException", "InvocationTargetException", "UndeclaredThrowableException",
		"ExceptionInInitializerError", "PrivilegedActionException", "NestedServletException", "BeanCreationException",
		"BeanInstantiationException", "UnsatisfiedDependencyException", "ReportedException", "class_148",
		"WrappedException", "OnErrorNotImplementedException", "UncheckedExecutionException", "UncheckedIOException",
		"SparkException", "ReactiveException", "MojoExecutionException", "PluginExecutionException", "LifecycleExecutionException",
		"TestFailedException", "ServletException", "ReflectiveOperationException", "UncheckedException":
		return true
	}
	return strings.HasSuffix(typ, "WrappedRuntimeException")
}

// javaClass is what a type and its message say beyond an ordinary bug.
func javaClass(e exception) string {
	switch e.typ[strings.LastIndexByte(e.typ, '.')+1:] {
	case "OutOfMemoryError":
		return "oom"
	case "ConnectException", "UnknownHostException", "NoRouteToHostException", "HttpHostConnectException",
		"ConnectTimeoutException", "CommunicationsException", "SQLTransientConnectionException", "SQLNonTransientConnectionException",
		"SocketTimeoutException", "UnresolvedAddressException", "ConnectionClosedException", "NoNodeAvailableException",
		"RedisConnectionException", "JedisConnectionException", "MongoTimeoutException", "MongoSocketOpenException":
		return "outage"
	case "SocketException", "IOException", "PSQLException":
		if unreachable(e.message) {
			return "outage"
		}
	}
	return ""
}
