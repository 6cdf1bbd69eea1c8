package crash

import "strings"

// rustLocation marks, as its Module, the frame that the panic's own line names.
const rustLocation = "panicked at"

// rustMaxFrames bounds the frames kept of a backtrace.
const rustMaxFrames = 300

// rustBacktrace reads a backtrace that begins within a few lines of i and
// returns the index behind it, or behind the notes where there is none.
func rustBacktrace(lines []string, i int) ([]Frame, int) {
	j := i
	for ; j < len(lines); j++ {
		t := strings.TrimSpace(lines[j])
		if t == "" && j < i+3 || strings.HasPrefix(t, "note: ") {
			continue
		}
		if k := strings.Index(t, "ack backtrace:"); k >= 0 && k < 4 || strings.Contains(t, " BACKTRACE ") {
			j++
		}
		break
	}
	var frames []Frame
	next := j
	for ; j < len(lines); j++ {
		t := strings.TrimSpace(lines[j])
		if name, ok := rustFrame(t); ok {
			if len(frames) < rustMaxFrames {
				frames = append(frames, Frame{Function: name})
			}
			next = j + 1
			continue
		}
		if len(frames) > 0 && rustInlined(lines, j) {
			if len(frames) < rustMaxFrames {
				frames = append(frames, Frame{Function: t})
			}
			continue
		}
		if place, ok := strings.CutPrefix(t, "at "); ok && len(frames) > 0 {
			f := &frames[len(frames)-1]
			if at, _, ok := rustPlace(place); ok && f.File == "" {
				f.File, f.Line = at.File, at.Line
			}
			next = j + 1
			continue
		}
		if len(frames) > 0 && (strings.HasPrefix(t, "⋮ ") || strings.HasPrefix(t, "[... ") || strings.HasPrefix(t, "[...") || strings.HasPrefix(t, "(")) {
			continue
		}
		break
	}
	for next < len(lines) && strings.HasPrefix(lines[next], "note: ") {
		next++
	}
	return frames, max(next, i)
}

// rustInlined reports the name of an inlined function, which has no number of
// its own: an indented path above a place.
func rustInlined(lines []string, j int) bool {
	l := lines[j]
	return strings.HasPrefix(l, "    ") && strings.Contains(l, "::") && j+1 < len(lines) &&
		strings.HasPrefix(strings.TrimSpace(lines[j+1]), "at ") && !strings.HasPrefix(strings.TrimSpace(l), "at ")
}

// rustFrame reads a backtrace's numbered line: "4: shop::cart::total" or
// "4:     0x55d2f0 - shop::cart::total::h0123456789abcdef".
func rustFrame(t string) (string, bool) {
	d := countDigits(t)
	if d == 0 || d > 4 || d+1 >= len(t) || t[d] != ':' || t[d+1] != ' ' {
		return "", false
	}
	name := strings.TrimSpace(t[d+1:])
	if strings.HasPrefix(name, "0x") {
		_, after, ok := strings.Cut(name, " - ")
		if !ok {
			return "<unknown>", true
		}
		name = strings.TrimSpace(after)
	}
	if k := strings.Index(name, " (0x"); k > 0 {
		name = name[:k]
	}
	if k := strings.Index(name, " at /"); k > 0 { // a tool put both on one line
		name = name[:k]
	}
	return name, name != ""
}

// rustLibrary reports code that is not the program's own: the standard library's
// under whatever prefix it was built, and what cargo fetched.
func rustLibrary(f Frame) bool {
	path := strings.ReplaceAll(f.File, `\`, "/")
	if path != "" {
		return rustStdFile(path) || rustFetched(path) != ""
	}
	return rustLibraryCrate(rustCrate(f.Function))
}

func rustStdFile(path string) bool {
	if strings.HasPrefix(path, "/rustc/") && !strings.Contains(path, "/compiler/") || strings.HasSuffix(path, "macros>") {
		return true
	}
	for _, dir := range []string{
		"library/std/", "library/core/", "library/alloc/", "library/test/", "library/panic_unwind/", "library/backtrace/",
		"libstd/", "libcore/", "liballoc/", "libtest/", "libcollections/", "libpanic_unwind/", "libbacktrace/", "librustuv/", "libgreen/", "libnative/",
		"lib/rustlib/",
	} {
		if k := strings.Index(path, dir); k == 0 || k > 0 && path[k-1] == '/' {
			return true
		}
	}
	return false
}

// rustFetched returns the crate a file belongs to when cargo fetched it.
func rustFetched(path string) string {
	if _, rest, ok := strings.Cut(path, "/registry/src/"); ok {
		_, rest, _ = strings.Cut(rest, "/") // the index's name
		crate, _, _ := strings.Cut(rest, "/")
		return rustUnversioned(crate)
	}
	if _, rest, ok := strings.Cut(path, "/git/checkouts/"); ok {
		crate, _, _ := strings.Cut(rest, "/")
		return rustUnversioned(crate)
	}
	for _, dir := range []string{"/vendor/", "/cargo-vendor-dir/", "/cargo-vendor/", "-vendor/"} {
		if _, rest, ok := strings.Cut("/"+path, dir); ok && strings.Contains(rest, "/src/") {
			rest, _, _ = strings.Cut(rest, "/src/")
			return rustUnversioned(rest[strings.LastIndexByte(rest, '/')+1:])
		}
	}
	return ""
}

// rustUnversioned cuts "serde-1.0.1" and "thing-9f8a7b6c5d4e3f2a" to the name.
func rustUnversioned(crate string) string {
	for k := len(crate) - 1; k > 0; k-- {
		if crate[k] != '-' || k+1 == len(crate) {
			continue
		}
		rest := crate[k+1:]
		if rest[0] >= '0' && rest[0] <= '9' && strings.Contains(rest, ".") || len(rest) == 16 && isLowerHex(rest) {
			return crate[:k]
		}
	}
	return crate
}

// rustCrate returns the crate a function belongs to: the first name of its path,
// of a trait's implementation the implementing type's.
func rustCrate(function string) string {
	s := strings.TrimLeft(function, "<&*( ")
	for _, p := range []string{"mut ", "dyn ", "impl ", "alloc::boxed::Box<", "alloc::sync::Arc<", "core::pin::Pin<"} {
		s = strings.TrimPrefix(s, p)
	}
	s = strings.TrimLeft(s, "<&*( ")
	end := strings.IndexAny(s, ":[<> ")
	if end < 0 {
		return s
	}
	return s[:end]
}

func rustLibraryCrate(crate string) bool {
	switch crate {
	case "std", "core", "alloc", "test", "backtrace", "panic_unwind", "collections", "rt", "sys", "rustrt", "green", "native",
		"tokio", "tokio_core", "tokio_reactor", "tokio_threadpool", "tokio_executor", "tokio_current_thread", "tokio_timer", "tokio_util",
		"futures", "futures_util", "futures_core", "futures_executor", "futures_channel", "async_std", "async_task", "async_executor", "smol",
		"hyper", "h2", "reqwest", "tower", "axum", "actix", "actix_web", "actix_http", "actix_rt", "actix_server", "actix_service", "rocket", "warp",
		"rayon", "rayon_core", "crossbeam", "crossbeam_utils", "crossbeam_channel", "parking_lot", "parking_lot_core", "lock_api", "once_cell", "lazy_static",
		"serde", "serde_json", "clap", "structopt", "log", "env_logger", "tracing", "tracing_core", "tracing_subscriber", "anyhow", "eyre", "color_eyre", "failure",
		"mio", "rand", "regex", "winit", "scoped_tls", "stable_deref_trait", "hashbrown", "indexmap", "smallvec", "bytes", "diesel", "sqlx_core", "r2d2":
		return true
	}
	return rustIgnoredName(crate)
}

// rustIgnore passes over the panic's own machinery and what starts a thread.
func rustIgnore(f Frame) bool {
	if f.Module == rustLocation {
		return false
	}
	fn := f.Function
	crate := rustCrate(fn)
	switch crate {
	case "backtrace", "panic_unwind", "rt", "sys":
		return true
	case "core", "std", "test", "alloc":
		return strings.Contains(fn, "panic") || strings.Contains(fn, "backtrace") || strings.Contains(fn, "::rt::") ||
			strings.Contains(fn, "::fmt") || strings.Contains(fn, "sys_common") || strings.Contains(fn, "thread") ||
			strings.Contains(fn, "ops::function") || strings.Contains(fn, "Write") || strings.Contains(fn, "catch_unwind")
	}
	return rustIgnoredName(crate)
}

// rustIgnoredName reports symbols that belong to no crate.
func rustIgnoredName(name string) bool {
	switch name {
	case "", "rust_begin_unwind", "rust_panic", "rust_panic_with_hook", "_start", "start", "main", "__rust_try", "__rust_maybe_catch_panic",
		"__rust_start_panic", "start_thread", "clone", "__clone", "__libc_start_main", "__libc_start_call_main", "unknown", "no", "begin_unwind",
		"BaseThreadInitThunk", "RtlUserThreadStart", "invoke_main", "thread_start", "_pthread_body", "_pthread_start", "__scrt_common_main_seh",
		"RtlInitializeExceptionChain", "rust_metadata_std", "ret_from_fork", "clone3", "__GI___clone3", "_main", "___rust_try", "_rust_begin_unwind", "_rust_panic":
		return true
	}
	return strings.HasPrefix(name, "_$LT$") || strings.HasPrefix(name, "__rust") || strings.HasPrefix(strings.TrimLeft(name, "_"), "libc_start")
}

// rustCanonical keeps of a panic's place the file below src, and of a frame its
// function without hashes, generics and closures.
func rustCanonical(f Frame) Frame {
	path := strings.ReplaceAll(f.File, `\`, "/")
	if f.Function != "" && f.Module != rustLocation {
		return Frame{Function: rustFunction(f.Function), Line: f.Line}
	}
	if path == "" || rustStdFile(path) {
		return Frame{Module: "std", Line: f.Line}
	}
	// A program that cargo installed lies where libraries do; its places are
	// the same as where it was built by its author.
	return Frame{Function: rustBelowSource(path), Line: f.Line}
}

// rustBelowSource cuts a path behind its last src folder.
func rustBelowSource(path string) string {
	if k := strings.LastIndex("/"+path, "/src/"); k >= 0 {
		return path[k+len("src/"):]
	}
	for _, dir := range []string{"libcore/", "libstd/", "liballoc/"} {
		if k := strings.LastIndex(path, dir); k >= 0 {
			return path[k+len("lib"):]
		}
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// rustFunction takes the hashes, type arguments and closures off a name.
func rustFunction(name string) string {
	if k := strings.LastIndex(name, "::h"); k > 0 && len(name)-k == 19 && isLowerHex(name[k+3:]) {
		name = name[:k]
	}
	name = goStripBrackets(name) // crate[0123abc]
	name = strings.NewReplacer("{{closure}}", "", "{closure}", "", "$LT$", "<", "$GT$", ">", "$u20$", " ", "$RF$", "&", "..", "::").Replace(name)
	for {
		k := strings.LastIndex(name, "::{closure#")
		if k < 0 {
			break
		}
		end := strings.IndexByte(name[k:], '}')
		if end < 0 {
			break
		}
		name = name[:k] + name[k+end+1:]
	}
	name = rustNoTypeArguments(name)
	for strings.HasSuffix(name, "::") {
		name = strings.TrimSuffix(name, "::")
	}
	return name
}

// rustNoTypeArguments takes "::<u8>" off, and of "<T as Trait>::f" leaves
// "T::f".
func rustNoTypeArguments(name string) string {
	prefix := ""
	if strings.HasPrefix(name, "<") {
		if k := strings.Index(name, " as "); k > 0 {
			depth := 0
			for m, r := range name {
				if r == '<' {
					depth++
				} else if r == '>' && (m == 0 || name[m-1] != '-') {
					if depth--; depth == 0 {
						prefix, name = strings.TrimLeft(name[1:k], "&<* "), name[m+1:]
						break
					}
				}
			}
		}
	}
	var b strings.Builder
	depth := 0
	for m, r := range prefix + name {
		switch {
		case r == '<':
			depth++
		case r == '>' && (m == 0 || (prefix + name)[m-1] != '-'):
			depth = max(0, depth-1)
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "::::", "::")
}
