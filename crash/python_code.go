package crash

import "strings"

// pyCode finds what tells exceptions of one vague type apart: an errno, an
// HTTP status, a driver's code, a module that is missing.
func pyCode(typ, msg string) string {
	last := lastSegment(typ, ".")
	if c := pyErrno(msg); c != "" {
		return c
	}
	switch last {
	case "ImportError", "ModuleNotFoundError":
		return pyMissing(msg)
	case "HTTPError", "HttpError", "HTTPStatusError":
		return pyStatus(msg)
	case "CalledProcessError":
		if s, ok := between(msg, "died with <Signals.", ":"); ok {
			return s
		}
		if _, s, ok := strings.Cut(msg, "returned non-zero exit status "); ok {
			if _, rest, ok := leadingNumber(s); ok {
				return "exit " + s[:len(s)-len(rest)]
			}
		}
	case "ClientError":
		if s, ok := between(msg, "An error occurred (", ")"); ok {
			return s
		}
	}
	return pyDriver(msg)
}

// pyMissing returns the module or the name that an import did not find.
func pyMissing(msg string) string {
	for _, s := range []string{"No module named ", "cannot import name ", "cannot import name: "} {
		if rest, ok := strings.CutPrefix(msg, s); ok {
			rest = strings.TrimLeft(rest, `'"`)
			end := 0
			for end < len(rest) && (isIdentByte(rest[end]) || rest[end] == '.') {
				end++
			}
			return strings.TrimRight(rest[:end], ".")
		}
	}
	// libGL.so.1: cannot open shared object file: No such file or directory
	if lib, _, ok := strings.Cut(msg, ": cannot open shared object file"); ok && !strings.Contains(lib, " ") {
		return lib
	}
	return ""
}

// pyStatus reads "503 Server Error: …" and "HTTP Error 503: …".
func pyStatus(msg string) string {
	for _, s := range []string{"", "HTTP Error ", "<HttpError ", "Client error '", "Server error '"} {
		if rest, ok := strings.CutPrefix(msg, s); ok {
			if n, tail, ok := leadingNumber(rest); ok && n >= 100 && n < 600 && len(rest)-len(tail) == 3 {
				return rest[:3]
			}
		}
	}
	return ""
}

// pyDriver reads what database drivers begin their messages with:
// (psycopg2.errors.UndefinedTable), (1045, "Access denied …"), and ORA-00942.
func pyDriver(msg string) string {
	rest, ok := strings.CutPrefix(msg, "(")
	if !ok {
		if strings.HasPrefix(msg, "ORA-") && len(msg) >= 9 {
			return msg[:9]
		}
		return ""
	}
	if n, tail, ok := leadingNumber(rest); ok && n > 0 && strings.HasPrefix(tail, ",") {
		return rest[:len(rest)-len(tail)]
	}
	name, tail, ok := strings.Cut(rest, ") ")
	if !ok || strings.ContainsAny(name, " '\"") {
		return ""
	}
	if c := pyDriver(tail); c != "" {
		return c
	}
	return lastSegment(name, ".")
}

// pyErrno names an error number, whichever system counted it.
func pyErrno(msg string) string {
	at := strings.Index(msg, "Errno ")
	width := len("Errno ")
	if at < 0 {
		if at, width = strings.Index(msg, "[WinError "), len("[WinError "); at < 0 {
			if at, width = strings.Index(msg, "[Error "), len("[Error "); at < 0 {
				return ""
			}
		}
	}
	if at > 200 {
		return ""
	}
	s := strings.TrimPrefix(msg[at+width:], "-")
	n, rest, ok := leadingNumber(s)
	if !ok || !strings.HasPrefix(rest, "]") {
		return ""
	}
	windows := msg[at] == '['
	text := strings.TrimSpace(rest[1:])
	for _, e := range pyErrnos {
		if windows && e.win == n && e.win != 0 || !windows && (e.linux == n || e.mac == n && e.mac != 0) && (e.text == "" || strings.HasPrefix(text, e.text)) {
			return e.name
		}
	}
	return "errno " + s[:len(s)-len(rest)]
}

// pyErrnos are the errors that platforms number differently, and the common
// ones. text tells numbers apart that mean another thing elsewhere.
var pyErrnos = []struct {
	name            string
	linux, mac, win int
	text            string
}{
	{"ENOENT", 2, 2, 2, ""},
	{"ENOENT", 2, 2, 3, ""},
	{"ENOTFOUND", 2, 8, 11001, "Name or service"},
	{"ENOTFOUND", 2, 8, 11001, "nodename nor"},
	{"ENOTFOUND", 3, 3, 11002, "Temporary failure in name"},
	{"ENOTFOUND", 5, 5, 11004, "No address associated"},
	{"ENOTFOUND", 11001, 0, 11001, ""},
	{"EPERM", 1, 1, 0, "Operation not"},
	{"EACCES", 13, 13, 5, ""},
	{"EACCES", 13, 13, 32, ""},
	{"EEXIST", 17, 17, 183, ""},
	{"ENOTDIR", 20, 20, 267, ""},
	{"EISDIR", 21, 21, 0, ""},
	{"EINVAL", 22, 22, 87, ""},
	{"EMFILE", 24, 24, 0, ""},
	{"ENOSPC", 28, 28, 112, ""},
	{"EROFS", 30, 30, 0, ""},
	{"EPIPE", 32, 32, 109, "Broken pipe"},
	{"ENOMEM", 12, 12, 8, "Cannot allocate"},
	{"EAGAIN", 11, 35, 10035, "Resource temporarily"},
	{"ECONNREFUSED", 111, 61, 10061, ""},
	{"ECONNREFUSED", 10061, 0, 1225, ""},
	{"ECONNRESET", 104, 54, 10054, ""},
	{"ECONNRESET", 10054, 0, 64, ""},
	{"ECONNABORTED", 103, 53, 10053, ""},
	{"ETIMEDOUT", 110, 60, 10060, ""},
	{"ETIMEDOUT", 10060, 0, 121, ""},
	{"EHOSTUNREACH", 113, 65, 10065, ""},
	{"ENETUNREACH", 101, 51, 10051, ""},
	{"EADDRINUSE", 98, 48, 10048, ""},
	{"EADDRNOTAVAIL", 99, 49, 10049, ""},
}

// pyClass returns what a type says beyond a bug.
func pyClass(e exception) string {
	switch pyKind(e) {
	case "MemoryError", "OutOfMemoryError":
		return "oom"
	case "SoftTimeLimitExceeded", "TimeLimitExceeded", "WorkerTimeout", "JobTimeoutException":
		return "timeout"
	case "TimeoutError":
		if e.code == "" {
			return "timeout"
		}
		return "outage"
	case "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError", "MaxRetryError",
		"NewConnectionError", "ConnectTimeoutError", "ConnectTimeout", "ReadTimeout", "ReadTimeoutError",
		"ClientConnectorError", "ServerDisconnectedError", "ConnectError", "EndpointConnectionError", "gaierror",
		"ServerSelectionTimeoutError", "AutoReconnect", "RemoteDisconnected", "NoBrokersAvailable", "ConnectionError":
		return "outage"
	}
	switch e.code {
	case "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND":
		return "outage"
	}
	if strings.Contains(e.message, "CUDA out of memory") || e.code == "ENOMEM" {
		return "oom"
	}
	return ""
}
