package crash

import "strings"

// nodeCanonical names a frame by its function and the file: the base name of
// an own one, the path within its package of an installed one; without the
// extension, because the same source runs as .ts and as .js.
func nodeCanonical(f Frame) Frame {
	p := strings.ReplaceAll(f.File, `\`, "/")
	if i := strings.IndexByte(p, '?'); i > 0 {
		p = p[:i]
	}
	function := nodeFunction(f.Function)
	switch {
	case nodeRuntime(f):
		p = strings.TrimPrefix(p, "node:")
		switch function {
		case "afterConnectMultiple", "internalConnectMultiple":
			function = "afterConnect" // since Node tries all addresses
		}
	case strings.Contains(p, "node_modules/"):
		p = p[strings.LastIndex(p, "node_modules/")+len("node_modules/"):]
	}
	name := nodeStem(p[strings.LastIndexByte(p, '/')+1:])
	module := ""
	if nodeLibrary(f) && !nodeRuntime(f) {
		module = nodePackage(p)
	}
	if function == "" {
		function = "<anonymous>"
	}
	return Frame{File: name, Line: f.Line, Function: function, Module: module}
}

// nodeStem takes extensions and the hashes of bundles from a file's name:
// main.3f2a1b9c.js and index-BxY12abc.mjs.
func nodeStem(name string) string {
	for _, end := range []string{".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".mts", ".cts", ".map", ".vue", ".svelte"} {
		name = strings.TrimSuffix(name, end)
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".min"), ".bundle")
	for {
		i := strings.LastIndexAny(name, ".-_")
		if i < 0 || !nodeHash(name[i+1:]) {
			return name
		}
		name = name[:i]
	}
}

// nodeHash reports what a bundler, not a person, calls a file.
func nodeHash(s string) bool {
	if len(s) < 6 {
		return false
	}
	number, upper := false, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			number = true
		case c >= 'A' && c <= 'Z':
			upper++
		case c < 'a' || c > 'z':
			return false
		}
	}
	return number || len(s) == 8 && upper > 1
}

// nodeFunction is a function's own name: what stands before it (the receiver,
// new, async) depends on the engine's version. Functions without a name are "".
func nodeFunction(s string) string {
	s, _, _ = strings.Cut(s, " [as ")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "async "), "new ")
	s = strings.TrimRight(s, "/<")
	s = s[strings.LastIndexByte(s, '.')+1:]
	switch s {
	case "<anonymous>", "anonymous", "?", "eval", "default", "global code", "module code", "anonymous>":
		return ""
	}
	for strings.HasPrefix(s, "_callee") {
		return "_callee" // regenerator's, numbered
	}
	if i := strings.IndexByte(s, '$'); i > 2 && allDigits(s[i+1:]) {
		s = s[:i]
	}
	return strings.TrimPrefix(s, "#")
}
