package crash

import "strings"

// nodeDetail gives e the code that tells it from others of its type: an errno
// with the port, a missing module's name, and where the function has no name
// the property that was read, or the words of the message.
func nodeDetail(e *exception) {
	if e.typ == "UnhandledPromiseRejection" { // of a value that is no Error: the value is all there is
		if _, reason, ok := strings.Cut(e.message, "with the reason "); ok {
			e.message = strings.Trim(reason, "\"'` .{]")
		}
		if !ownFrames(e.frames, nodeLibrary, nodeIgnore) {
			e.frames = nil
		}
		e.code = ""
		return
	}
	errno := nodeErrno(e.message)
	switch {
	case errno != "":
		e.code = errno
	case strings.HasPrefix(e.code, "E") && !strings.Contains(e.code, "_"):
	case e.code != "" && strings.HasPrefix(e.code, "ERR_"):
	default:
		e.code = "" // printed by one way of logging and not by another
	}
	if module, from := nodeMissing(e.message); module != "" {
		e.code = "MODULE_NOT_FOUND " + module
		e.typ = "Error"
		if from != "" && !ownFrames(e.frames, nodeLibrary, nodeIgnore) {
			e.frames = append([]Frame{{File: from}}, e.frames...)
		}
		return
	}
	switch e.code {
	case "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EADDRINUSE":
		if port := nodePort(e.message); port != "" {
			e.code += ":" + port
		}
	case "":
		if f, ok := nodeTop(e.frames); ok && nodeFunction(f.Function) == "" {
			if e.code = nodeAccess(e.message); e.code == "" {
				e.code = discriminator(e.message)
			}
		}
	}
}

// nodeErrno finds the errno or the HTTP status in a message: "connect
// ECONNREFUSED 127.0.0.1:80", "ENOENT: no such file", "status code 503".
func nodeErrno(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	for i := 0; i < len(line); {
		k := strings.IndexByte(line[i:], 'E')
		if k < 0 {
			break
		}
		start := i + k
		end := start
		for end < len(line) && (line[end] >= 'A' && line[end] <= 'Z' || line[end] >= '0' && line[end] <= '9' && end > start+1 || line[end] == '_') {
			end++
		}
		if end-start >= 4 && (start == 0 || line[start-1] == ' ' || line[start-1] == '(') && (end == len(line) || strings.IndexByte(" :,);", line[end]) >= 0) && nodeIsErrno(line[start:end]) {
			return line[start:end]
		}
		i = end + 1
		if end > start {
			i = end
		}
	}
	for _, mark := range []string{"status code ", "status code: ", "status: ", "HTTP ", "HTTP error! status: ", "statusCode: "} {
		if _, rest, ok := strings.Cut(line, mark); ok && len(rest) >= 3 && allDigits(rest[:3]) && (len(rest) == 3 || rest[3] < '0' || rest[3] > '9') {
			return rest[:3]
		}
	}
	return ""
}

// nodeIsErrno reports the names of libuv's errors.
func nodeIsErrno(s string) bool {
	switch s {
	case "ENOENT", "EACCES", "EPERM", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "EMFILE", "ENFILE", "ENOSPC", "EROFS", "EBUSY", "EXDEV", "ELOOP",
		"ENAMETOOLONG", "EINVAL", "EBADF", "EIO", "EPIPE", "EAGAIN", "ENOMEM", "ENOEXEC", "ENOTSUP", "ENODEV", "ENXIO", "ESRCH", "EPROTO", "E2BIG", "EFAULT", "ENOBUFS",
		"ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "ESOCKETTIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EADDRINUSE", "EADDRNOTAVAIL",
		"ENOTFOUND", "EAI_AGAIN", "EHOSTDOWN", "ENETDOWN", "ENOTCONN", "ENODATA", "ESERVFAIL", "EREFUSED", "EFTYPE", "UNKNOWN", "EOF":
		return true
	}
	return false
}

// nodeOutage reports failures of what a program talks to.
func nodeOutage(e *exception) bool {
	code, _, _ := strings.Cut(e.code, ":")
	switch code {
	case "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "ESOCKETTIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "EHOSTDOWN", "ENETDOWN", "ESERVFAIL", "EREFUSED",
		"502", "503", "504":
		return true
	}
	return e.typ == "MongoNetworkError" || e.typ == "MongoServerSelectionError" || e.typ == "MongooseServerSelectionError"
}

// nodePort is the port in a message, which names the service that did not
// answer. Those that systems hand out at random are left out.
func nodePort(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	line, _, _ = strings.Cut(line, " - Local")
	i := strings.LastIndexByte(line, ':')
	if i < 0 {
		return ""
	}
	n := 0
	for i+1+n < len(line) && line[i+1+n] >= '0' && line[i+1+n] <= '9' {
		n++
	}
	port := line[i+1 : i+1+n]
	if n == 0 || n > 5 || lineNumber(port) >= 32768 {
		return ""
	}
	return port
}

// nodeMissing reads "Cannot find module 'x'" and "Cannot find package 'x'
// imported from /y.js". A path is reduced to its last part.
func nodeMissing(message string) (module, from string) {
	_, rest, ok := strings.Cut(message, "Cannot find module '")
	if !ok {
		if _, rest, ok = strings.Cut(message, "Cannot find package '"); !ok {
			return "", ""
		}
	}
	module, rest, ok = strings.Cut(rest, "'")
	if !ok {
		return "", ""
	}
	rest = strings.TrimSpace(rest)
	if after, ok := strings.CutPrefix(rest, "imported from "); ok {
		from, _, _ = strings.Cut(after, "\n")
	} else if after, ok := strings.CutPrefix(rest, "Require stack:"); ok {
		from, _, _ = strings.Cut(strings.TrimLeft(after, " \n-"), "\n")
	}
	module = strings.ReplaceAll(module, `\`, "/")
	if strings.HasPrefix(module, ".") || strings.HasPrefix(module, "/") || len(module) > 2 && module[1] == ':' {
		module = nodeStem(strings.TrimSuffix(module, "/")[strings.LastIndexByte(strings.TrimSuffix(module, "/"), '/')+1:])
	}
	return module, strings.TrimSpace(strings.TrimPrefix(from, "file://"))
}

// nodeTop is the frame that will be chosen.
func nodeTop(frames []Frame) (Frame, bool) {
	first := -1
	for i, f := range frames {
		if nodeIgnore(f) {
			continue
		}
		if !nodeLibrary(f) {
			return f, true
		}
		if first < 0 && !nodeRuntime(f) {
			first = i
		}
	}
	if first < 0 {
		return Frame{}, false
	}
	return frames[first], true
}

// nodeAccess is the property or the name that a V8 message says was missing, in
// all the wordings it had: "Cannot read property 'x' of null", "Cannot read
// properties of undefined (reading 'x')", "a.x is not a function", "x is not
// defined".
func nodeAccess(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	for _, p := range []string{"Cannot read property '", "Cannot set property '", "(reading '", "(setting '"} {
		if _, rest, ok := strings.Cut(line, p); ok {
			name, _, ok := strings.Cut(rest, "'")
			if ok && nodeIdentifier(name) {
				return "." + name
			}
			return "[]" // an index: data
		}
	}
	for _, p := range []string{" is not a function", " is not a constructor", " is not defined", " is not iterable"} {
		if name, _, ok := strings.Cut(line, p); ok {
			name = name[strings.LastIndexByte(name, ' ')+1:]
			name = name[strings.LastIndexByte(name, '.')+1:]
			if nodeIdentifier(name) {
				return name + p
			}
		}
	}
	return ""
}

// nodeIdentifier reports names that people give.
func nodeIdentifier(s string) bool {
	return s != "" && len(s) < 48 && countDigits(s) == 0 && only(s, func(c byte) bool { return isWord(c) || c == '$' })
}

// nodeReadFatal reads V8's own end. Its wordings of one failure, no memory
// left, differ by version and by what it was doing; so do the native frames
// below it, by system and build.
func nodeReadFatal(lines []string, i int) (trace, int, bool) {
	message := strings.TrimPrefix(strings.TrimSpace(lines[i]), "FATAL ERROR: ")
	t := trace{fatal: true}
	e := exception{typ: "FATAL ERROR", message: message}
	switch {
	case spoken(message, "heap out of memory", "CALL_AND_RETRY", "Allocation failed", "Zone Allocation", "Out of memory", "out of memory"):
		e.message, t.class = "JavaScript heap out of memory", "oom"
	case spoken(message, "v8::", "node::", "HandleScope", "Error::New", "napi", "N-API"):
	default:
		return trace{}, 0, false
	}
	next := i + 1
	for next < len(lines) && next < i+64 {
		s := strings.TrimSpace(lines[next])
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if s != "" && !strings.HasPrefix(s, "-----") && (n == 0 || !strings.HasPrefix(s[n:], ": ")) {
			break
		}
		next++
	}
	t.chain = []exception{e}
	return t, next, true
}

// nodeReadThrown reads what was thrown and is no Error: Node prints the place,
// the source line, and the value.
func nodeReadThrown(lines []string, i int) (trace, int, bool) {
	caret := -1
	for k := i - 1; k >= 0 && k >= i-maxExcerpt; k-- {
		s := strings.TrimSpace(lines[k])
		if s == "" {
			continue
		}
		if caret < 0 {
			if strings.Trim(s, "^~ ") == "" {
				caret = k
			}
			continue
		}
		if file, line, ok := nodeCutNumber(s); ok && line > 0 && strings.ContainsAny(file, `/\:`) {
			value := joined("", lines[caret+1:i])
			e := exception{typ: "thrown", message: strings.TrimPrefix(value, "Uncaught "), frames: []Frame{{File: file, Line: line}}}
			return trace{chain: []exception{e}, fatal: true}, i + 1, true
		}
	}
	return trace{}, 0, false
}
