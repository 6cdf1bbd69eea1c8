package crash

import "strings"

// nodeFrame parses V8's "at async Object.f [as g] (file:///x.js:1:2)" and
// "at /x.js:1:2".
func nodeFrame(l string) (Frame, bool) {
	s, ok := afterAt(l)
	if !ok {
		return nodeBrowser(strings.TrimSpace(l))
	}
	s = strings.TrimRight(s, " \t\r{,")
	s = strings.TrimPrefix(s, "async ")
	if strings.HasSuffix(s, ")") {
		if open := strings.Index(s, " ("); open > 0 {
			file, line, ok := nodePlace(s[open+2 : len(s)-1])
			if !ok {
				file, ok = nodeCompiled(s[open+2 : len(s)-1])
			}
			return Frame{File: file, Line: line, Function: s[:open]}, ok && !strings.HasPrefix(s, "void ")
		}
		if !strings.HasPrefix(s, "(") {
			return Frame{}, false
		}
		s = s[1 : len(s)-1]
	}
	file, line, ok := nodePlace(s)
	if !ok || line == 0 && file != "<anonymous>" || strings.Contains(file, " (") {
		return Frame{}, false
	}
	return Frame{File: file, Line: line}, true
}

// nodeBrowser reads Firefox' and Safari's frames: price@https://shop/cart.js:3:9.
func nodeBrowser(s string) (Frame, bool) {
	function, place, ok := strings.Cut(s, "@")
	if !ok || strings.Contains(s, " ") || !strings.Contains(place, "://") {
		return Frame{}, false
	}
	file, line, ok := nodePlace(place)
	return Frame{File: file, Line: line, Function: function}, ok && line > 0
}

// nodePlace splits file:line:column.
func nodePlace(s string) (file string, line int, ok bool) {
	switch {
	case s == "<anonymous>", s == "native", s == "unknown location", strings.HasPrefix(s, "index "), s == "native:1:1":
		return "<anonymous>", 0, true
	case strings.HasPrefix(s, "eval at "):
		// (eval at f (/x.js:1:2), <anonymous>:3:4): where it was called.
		if a := strings.LastIndex(s, " ("); a >= 0 {
			if b := strings.IndexByte(s[a:], ')'); b > 0 {
				return nodePlace(s[a+2 : a+b])
			}
		}
		return "<anonymous>", 0, true
	case strings.HasPrefix(s, "address at "):
		s = s[len("address at "):] // Hermes
	}
	rest, last, found := nodeCutNumber(s)
	if !found {
		return "", 0, false
	}
	if file, row, two := nodeCutNumber(rest); two {
		rest, last = file, row
	}
	if rest == "" || strings.ContainsAny(rest, "<>") && !strings.HasPrefix(rest, "<anonymous") && !strings.HasPrefix(rest, "evalmachine") && !strings.HasPrefix(rest, "<") ||
		strings.HasSuffix(rest, ":line") || nodeOtherLanguage(rest) {
		return "", 0, false
	}
	return rest, last, true
}

// nodeCompiled accepts a path without a line, as programs print that were
// compiled to bytecode.
func nodeCompiled(s string) (string, bool) {
	return s, strings.ContainsAny(s, `/\`) && (strings.HasSuffix(s, ".js") || strings.HasSuffix(s, ".cjs") || strings.HasSuffix(s, ".mjs") || strings.HasSuffix(s, ".ts"))
}

// nodeCutNumber cuts ":12" from the end.
func nodeCutNumber(s string) (rest string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || !allDigits(s[i+1:]) {
		return "", 0, false
	}
	return s[:i], lineNumber(s[i+1:]), true
}

// nodeOtherLanguage reports files that frames of other languages name.
func nodeOtherLanguage(file string) bool {
	switch file[strings.LastIndexByte(file, '.')+1:] {
	case "java", "kt", "scala", "groovy", "cs", "fs", "vb", "py", "rb", "php", "go", "rs", "c", "cc", "cpp", "cxx", "h", "hpp", "ex", "exs", "erl", "dart", "swift", "m", "mm", "pl", "pm", "lua":
		return true
	}
	return false
}

// nodeRuntime reports frames of the engine and of Node's, Deno's and
// Electron's own modules.
func nodeRuntime(f Frame) bool {
	p := f.File
	switch {
	case p == "", p == "<anonymous>", p == "native", strings.HasPrefix(p, "node:"), strings.HasPrefix(p, "internal/"), strings.HasPrefix(p, "ext:"),
		strings.HasPrefix(p, "electron/js2c/"), strings.HasPrefix(p, "bun:"), strings.HasPrefix(p, "[native"), strings.HasPrefix(p, "deno:"):
		return true
	}
	return !strings.ContainsAny(p, `/\`) && nodeBuiltin(strings.TrimSuffix(p, ".js"))
}

// nodeBuiltin are Node's modules, which versions before 16 print bare.
func nodeBuiltin(name string) bool {
	switch name {
	case "assert", "async_hooks", "bootstrap_node", "buffer", "child_process", "cluster", "console", "crypto", "dgram", "diagnostics_channel", "dns",
		"domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net", "node", "os", "path", "perf_hooks", "punycode",
		"querystring", "readline", "repl", "stream", "string_decoder", "timers", "tls", "tty", "url", "util", "v8", "vm", "worker_threads",
		"zlib", "_http_agent", "_http_client", "_http_common", "_http_incoming", "_http_outgoing", "_http_server", "_stream_duplex",
		"_stream_passthrough", "_stream_readable", "_stream_transform", "_stream_writable", "_tls_wrap", "_tls_common", "_tls_legacy", "trace_events", "wasi", "freelist", "smalloc", "evals":
		return true
	}
	return false
}

// nodeLibrary reports installed packages. The package of a program that was
// installed globally is its user's program, what is installed below it is not.
func nodeLibrary(f Frame) bool {
	if nodeRuntime(f) {
		return true
	}
	p := strings.ReplaceAll(f.File, `\`, "/")
	if p[0] == '[' && strings.HasPrefix(p, "[eval") {
		return false
	}
	if strings.HasPrefix(p, "https://") && spoken(p, "https://deno.land/", "https://esm.sh/", "https://jsr.io/", "https://cdn.", "https://unpkg.com/", "https://cdnjs.") {
		return true
	}
	if spoken(p, "/.yarn/cache/", "/.yarn/__virtual__/", "/.yarn/unplugged/", "/bower_components/", "/.vite/deps/", "/.pnpm/", "webpack/bootstrap", "webpack/runtime/", "chrome-extension://", "/usr/share/nodejs/", "/.meteor/packages/", "/.cache/deno/npm/") {
		return true
	}
	const modules = "node_modules/"
	i := strings.Index(p, modules)
	if i < 0 {
		return false
	}
	if i > 0 && p[i-1] != '/' && p[i-1] != '~' {
		return false // my_node_modules/
	}
	if strings.Contains(p[i+len(modules):], modules) || !nodeGlobal(p[:i]) {
		return true
	}
	return nodeRunner(nodePackage(p[i+len(modules):]))
}

// nodeGlobal reports the folders in which npm, yarn, pnpm and nvm install
// programs.
func nodeGlobal(before string) bool {
	switch {
	case strings.HasSuffix(before, "/lib/"), strings.HasSuffix(before, "/npm/"), strings.HasSuffix(before, "/global/"), strings.HasSuffix(before, "/npm-global/"),
		strings.HasSuffix(before, "/nodejs/") && !strings.HasPrefix(before, "/opt/nodejs"), strings.HasSuffix(before, "/.npm-packages/"):
		return true
	}
	parent := strings.TrimSuffix(before, "/")
	dir := parent[strings.LastIndexByte(parent, '/')+1:]
	return len(dir) > 1 && dir[0] == 'v' && spoken(before, "/nvm/") || allDigits(dir) && strings.Contains(before, "/global/")
}

// nodeRunner are programs that run somebody's own.
func nodeRunner(name string) bool {
	switch name {
	case "pm2", "ts-node", "tsx", "nodemon", "mocha", "jest", "forever", "typescript", "@babel/node", "babel-cli", "ts-node-dev", "esm", "vitest", "gulp", "grunt", "grunt-cli", "gulp-cli", "electron", "coffee-script", "coffeescript":
		return true
	}
	return false
}

// nodePackage is the package that a path within node_modules begins with.
func nodePackage(p string) string {
	name, rest, _ := strings.Cut(p, "/")
	if strings.HasPrefix(name, "@") {
		second, _, _ := strings.Cut(rest, "/")
		return name + "/" + second
	}
	return name
}

// nodeIgnore reports the engine's own frames, the makers of Node's errors and
// the helpers that compilers put around async functions.
func nodeIgnore(f Frame) bool {
	if f.File == "" || f.File == "<anonymous>" || f.File == "native" {
		return true
	}
	switch nodeFunction(f.Function) {
	case "__awaiter", "__generator", "asyncGeneratorStep", "fulfilled", "rejected", "step", "_next", "_throw", "tryCatch", "invoke", "__webpack_require__", "__webpack_require_module__":
		return !strings.Contains(f.File, "node_modules")
	case "_errnoException", "_exceptionWithHostPort", "errnoException", "exceptionWithHostPort", "createConnectionError", "genericNodeError",
		"uvException", "uvExceptionWithHostPort", "checkListener", "captureLargerStackTrace", "NodeError", "throwInvalidArgType",
		"errorOrDestroy", "validateString", "validateFunction", "validateNumber", "validateObject", "validateInteger", "invalidArgTypeHelper":
		return nodeRuntime(f)
	}
	return false
}
