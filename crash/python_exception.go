package crash

import "strings"

// pyException reads the line that ends a traceback: pkg.Type: message. strong
// reports a name that hardly anything but an exception has.
func pyException(m string) (e exception, strong, ok bool) {
	if s, is := strings.CutPrefix(m, "Syntax Error:"); is { // some IDEs
		return exception{typ: "SyntaxError", message: strings.TrimSpace(s)}, true, true
	}
	if s, is := strings.CutPrefix(m, "Sorry: "); is { // py_compile
		m = s
	}
	end := 0
	for end < len(m) && (isIdentByte(m[end]) || m[end] == '.' || strings.HasPrefix(m[end:], "<locals>")) {
		if m[end] == '<' {
			end += len("<locals>") - 1
		}
		end++
	}
	typ := m[:end]
	if typ == "" || typ[0] == '.' || typ[0] >= '0' && typ[0] <= '9' || strings.HasSuffix(typ, ".") || len(typ) > 200 {
		return e, false, false
	}
	rest := strings.TrimRight(m[end:], " \t")
	if rest != "" && rest[0] != ':' {
		return e, false, false
	}
	msg := strings.TrimPrefix(rest, ":")
	if msg != "" && msg[0] != ' ' || listed(pyNoTypes, typ) {
		return e, false, false
	}
	e = exception{typ: typ, message: strings.TrimSpace(msg)}
	return e, pyStrong(typ), true
}

// pyNoTypes are words that lines of programs and logs begin with.
const pyNoTypes = " ERROR WARNING INFO DEBUG CRITICAL FATAL else try finally Traceback During The Note File" +
	" Aborted Killed Error error Error_ Exception_ http https Warning Stack " // Error alone is too common

var pyEndings = []string{
	"Error", "Exception", "Warning", "Interrupt", "Exit", "ExceptionGroup", "Timeout", "Failure",
	"StopIteration", "StopAsyncIteration", "DoesNotExist", "Refused", "NotFound", "Failed", "Invalid",
}

func pyStrong(typ string) bool {
	last := lastSegment(typ, ".")
	return endsWith(last, pyEndings...)
}

// pyIsGroup reports exceptions that hold others.
func pyIsGroup(e exception) bool {
	return strings.HasSuffix(e.typ, "ExceptionGroup") || strings.HasSuffix(e.typ, "MultiError") ||
		strings.HasSuffix(e.message, "sub-exception)") || strings.HasSuffix(e.message, "sub-exceptions)")
}

// pyIsSyntax reports exceptions whose own place has no function.
func pyIsSyntax(typ string) bool {
	return listed(" SyntaxError IndentationError TabError ", typ)
}

// pySyntaxPlace reads the place that some print behind a SyntaxError's text:
// "(views.py, line 9)", and "…: /x/views.py, line 9, pos 21".
func pySyntaxPlace(msg string) (Frame, bool) {
	at := strings.LastIndex(msg, ", line ")
	if at < 0 {
		return Frame{}, false
	}
	n, _, ok := leadingNumber(msg[at+len(", line "):])
	file := msg[:at]
	if open := strings.LastIndexByte(file, '('); open >= 0 {
		file = file[open+1:]
	} else if colon := strings.Index(file, ": "); colon >= 0 {
		file = file[colon+2:]
	}
	return Frame{File: file, Line: n}, ok && file != "" && !strings.Contains(file, " ")
}

// pyFinish completes an exception from its type and message.
func pyFinish(e *exception) {
	e.code = pyCode(e.typ, e.message)
	if e.code != "" { // it tells places apart better than their source does
		for i := range e.frames {
			e.frames[i].source = ""
		}
	}
	e.wrapper = pyIsGroup(*e)
	if pyIsSyntax(e.typ) {
		if f, ok := pySyntaxPlace(e.message); ok && (len(e.frames) == 0 || !pySameFile(e.frames[0], f)) {
			e.frames = append([]Frame{f}, e.frames...)
		}
		if len(e.frames) > 0 {
			e.frames[0].Function = "<module>"
		}
	}
	e.frames = pyMergeInlined(e.frames)
	if strings.HasSuffix(e.typ, "RecursionError") || strings.HasPrefix(e.message, "maximum recursion depth exceeded") {
		e.frames = mostFrequent(e.frames, pyLibrary)
	}
	e.frames = withoutInner(e.frames, pyLibrary, func(f Frame) bool { return pyIgnore(f) || pyStdlib(f.File) })
}

func pySameFile(a, b Frame) bool {
	return pyCanonical(a).File == pyCanonical(b).File
}

// pyMergeInlined takes a comprehension's frame for its caller's: since 3.12
// there is only the caller's.
func pyMergeInlined(frames []Frame) []Frame {
	out := frames[:0:0]
	for i := 0; i < len(frames); i++ {
		f := frames[i]
		if i+1 < len(frames) && listed(" <listcomp> <dictcomp> <setcomp> ", f.Function) && frames[i+1].File == f.File {
			f.Function = frames[i+1].Function
			i++
		}
		out = append(out, f)
	}
	return out
}

// pyVague reports the types that say nothing without a code.
func pyVague(typ string) bool {
	return listed(pyVagueTypes, lastSegment(typ, "."))
}

const pyVagueTypes = " Error Exception BaseException RuntimeError OSError IOError EnvironmentError WindowsError error" +
	" CalledProcessError HTTPError ClientError SystemExit ImportError ModuleNotFoundError DatabaseError" +
	" OperationalError ProgrammingError IntegrityError InternalError DataError DBAPIError APIError HttpError" +
	// once OSError with the same code
	" FileNotFoundError PermissionError FileExistsError IsADirectoryError NotADirectoryError BrokenPipeError" +
	" ConnectionRefusedError ConnectionResetError ConnectionAbortedError TimeoutError timeout "

// pyKind names what the versions of Python and of its libraries name
// differently.
func pyKind(e exception) string {
	last := lastSegment(e.typ, ".")
	switch last {
	case "ModuleNotFoundError":
		return "ImportError"
	case "timeout":
		return "TimeoutError"
	case "_ArrayMemoryError":
		return "MemoryError"
	case "OSError", "IOError", "EnvironmentError", "WindowsError", "error":
		if e.code != "" {
			if s, ok := pySubclass(e.code); ok {
				return s
			}
			return "OSError"
		}
		if last == "error" {
			return e.typ // re.error, zlib.error
		}
		return "OSError"
	case "RuntimeError":
		if strings.HasPrefix(e.message, "maximum recursion depth exceeded") {
			return "RecursionError"
		}
	}
	return last
}

// pySubclass returns the class that Python 3.3 gave an errno.
func pySubclass(code string) (string, bool) {
	switch code {
	case "ENOENT":
		return "FileNotFoundError", true
	case "EACCES", "EPERM":
		return "PermissionError", true
	case "EEXIST":
		return "FileExistsError", true
	case "EISDIR":
		return "IsADirectoryError", true
	case "ENOTDIR":
		return "NotADirectoryError", true
	case "EPIPE":
		return "BrokenPipeError", true
	case "ECONNREFUSED":
		return "ConnectionRefusedError", true
	case "ECONNRESET":
		return "ConnectionResetError", true
	case "ECONNABORTED":
		return "ConnectionAbortedError", true
	case "ETIMEDOUT":
		return "TimeoutError", true
	}
	return "", false
}
