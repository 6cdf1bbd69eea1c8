package crash

import "strings"

// cLibrary reports frames that are not the program's own: the runtime, the
// standard library's headers, what lies in a folder for other people's code.
func cLibrary(f Frame) bool {
	if cIgnore(f) || cLibraryName(cBareName(f.Function)) {
		return true
	}
	if f.File != "" {
		return cLibraryFile(strings.ReplaceAll(f.File, `\`, "/"))
	}
	return cLibraryModule(f.Module) || cQt(f.Function)
}

// cIgnore passes over what says nothing about the failure: how it was raised,
// reported and measured, and what every thread begins with.
func cIgnore(f Frame) bool {
	name := cBareName(f.Function)
	if name == "" || name == "??" || strings.HasPrefix(name, "+0x") {
		if f.File != "" {
			return false
		}
		return f.Module == "" || f.Module == "???" || cSystemModule(f.Module)
	}
	if cIgnoredName(name) || cReporter(name) {
		return true
	}
	path := strings.ReplaceAll(f.File, `\`, "/")
	if spoken(path,
		"libsanitizer/", "compiler-rt/", "sysdeps/", "nptl/", "/csu/", "libc-start", "stdlib/abort.c", "assert/assert.c",
		"libsupc++/", "libiberty/", "vcruntime/", "vcstartup/", "asan_interceptors", "libfuzzer/", "/fuzzer/Fuzzer", "sanitizer_common",
	) {
		return true
	}
	return path == "" && f.Module != "" && cSystemModule(f.Module) && !strings.Contains(name, "::")
}

// cIgnoredName reports functions that only raise, report or start.
func cIgnoredName(name string) bool {
	if startsWith(name,
		"__interceptor_", "___interceptor_", "__asan", "__ubsan", "__msan", "__tsan", "__lsan", "__hwasan", "__sanitizer", "__sancov", "__libc_", "__GI_",
		"__cxa_", "__cxxabiv1", "__gnu_cxx::__verbose_terminate", "std::terminate", "std::__terminate", "std::rethrow", "std::__throw", "__gxx_", "_Unwind_", "__pthread_kill", "__fortify",
		"__assert", "___assert", "_assert", "__stack_chk", "__chk_fail", "asan_", "wrap_", "fuzzer::", "__rust", "google::LogMessage", "google::DumpStack",
		"google::(anonymous namespace)", "absl::log_internal", "absl::lts_", "boost::stacktrace", "backward::", "llvm::sys::", "SignalHandler", "PrintStackTrace", "operator new", "operator delete",
		"MallocExtension", "tcmalloc::", "je_", "__scrt_", "invoke_main", "_sigtramp", "_pthread_", "__restore_rt", "__kernel_", "_dl_", "malloc_printerr", "_int_", "__fdelt_chk", "qt_message", "qt_assert",
	) {
		return true
	}
	if cIgnoredCall(name) {
		return true
	}
	if strings.HasPrefix(name, "_") { // the C library's own names for its functions, checked ones too
		bare := strings.TrimSuffix(strings.TrimSuffix(strings.TrimLeft(name, "_"), "_chk"), "_internal")
		if strings.HasPrefix(bare, "IO_") || cIgnoredCall(bare) {
			return true
		}
	}
	return strings.Contains(name, "_avx") || strings.Contains(name, "_sse") && strings.HasPrefix(name, "_") || strings.Contains(name, "_evex")
}

// cIgnoredCall reports the C library's functions by their names, and what
// begins and ends a thread.
func cIgnoredCall(name string) bool {
	switch name {
	case "<signal handler called>", "raise", "gsignal", "abort", "_start", "start", "start_thread", "thread_start", "clone", "__clone", "clone3", "__clone3", "kill", "pthread_kill",
		"malloc", "free", "calloc", "realloc", "cfree", "posix_memalign", "strdup", "strndup", "munmap_chunk", "malloc_consolidate", "sysmalloc", "systrim", "unlink_chunk",
		"exit", "_exit", "tgkill", "BaseThreadInitThunk", "RtlUserThreadStart", "mainCRTStartup", "WinMainCRTStartup", "__tmainCRTStartup", "KiUserExceptionDispatcher",
		"RaiseException", "_CxxThrowException", "UnhandledExceptionFilter", "terminate", "rethrow", "unknown", "(unknown)", "nil", "__nptl_main", "killpg", "QMessageLogger::fatal",
		"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strnlen", "strcpy", "strncpy", "strcat", "strncat", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strstr", "strtol", "strtok",
		"sprintf", "snprintf", "vsprintf", "vsnprintf", "printf", "vprintf", "fprintf", "vfprintf", "sscanf", "vsscanf", "fscanf", "atoi", "atol", "read", "write", "fread", "fwrite", "fgets", "puts", "fputs", "fclose", "fopen", "bcopy", "wcslen", "wcscpy", "qsort", "bsearch", "getenv", "longjmp", "siglongjmp":
		return true
	}
	return false
}

// cReporter reports the functions that programs write to print a stack or to
// handle a signal, by what they are called.
func cReporter(name string) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, ':')+1:])
	return spoken(name,
		"stacktrace", "stack_trace", "backtrace", "back_trace", "print_trace", "printtrace", "signalhandler", "signal_handler", "sighandler", "sig_handler", "sigsegv", "sigabrt",
		"crashhandler", "crash_handler", "segfault_handler", "segv_handler", "terminatehandler", "terminate_handler", "aborthandler", "abort_handler", "fatal_signal", "exceptionhandler", "exception_handler", "unhandledexception", "handlecrash", "handle_crash", "dump_stack", "dumpstack",
	)
}

// cLibraryName reports functions of libraries nearly everybody uses.
func cLibraryName(name string) bool {
	if startsWith(name, "std::", "__gnu_cxx::", "__gnu_debug::", "boost::", "testing::", "absl::", "google::", "fmt::", "Eigen::", "rapidjson::", "nlohmann::", "QMetaObject::", "QCoreApplication::", "QApplication", "QObject::", "QEventLoop::", "g_", "gtk_", "gdk_", "_g_", "Py", "_Py", "operator ", "decltype") {
		return true
	}
	return strings.HasSuffix(name, "Application::notify") // what Qt's programs put around its loop
}

// cQt reports a method of one of Qt's classes, whose names begin alike.
func cQt(name string) bool {
	name = strings.TrimPrefix(name, "`")
	if len(name) < 4 || name[0] != 'Q' || !strings.Contains(name, "::") {
		return false
	}
	name = strings.TrimPrefix(name[1:], "t")
	return name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && name[1] <= 'z'
}

func cLibraryFile(path string) bool {
	for _, dir := range []string{
		"/usr/include/", "/usr/lib/", "/usr/lib64/", "/include/c++/", "/bits/", "/libstdc++", "/libcxx/", "/libc++", "third_party/", "third-party/", "thirdparty/", "3rdparty/", "3rd_party/", "/ThirdParty/", "/external/", "/_deps/", "/vcpkg", "/.conan", "/boost/",
		"/glibc", "/node_modules/", "/Toolchains/", "/Xcode.app/", "/Windows Kits/", "/VC/Tools/", "/vctools/", "minkernel/", "/gtest/", "googletest/", "/v1/",
		"libio/", "string/strlen", "stdio-common/", "/malloc/malloc.c", "/stdlib/", "/qtbase/", "/deps/v8/",
	} {
		if k := strings.Index(path, strings.TrimPrefix(dir, "/")); k == 0 {
			return true
		}
		if strings.Contains(path, dir) && (dir[0] == '/' || strings.Contains(path, "/"+dir)) {
			return true
		}
	}
	if strings.IndexByte(path, '/') < 0 && (strings.HasPrefix(path, "stl_") || strings.HasSuffix(path, ".tcc")) {
		return true
	}
	switch path {
	case "basic_string.h", "shared_ptr.h", "shared_ptr_base.h", "unique_ptr.h", "new_allocator.h", "alloc_traits.h", "std_function.h", "hashtable.h", "invoke.h", "char_traits.h", "move.h", "ext/atomicity.h",
		"malloc.c", "abort.c", "raise.c", "libc-start.c", "clone.S", "pthread_create.c", "libc_fatal.c", "vfprintf.c", "assert.c", "pthread_kill.c", "libc_start_call_main.h":
		return true
	}
	return false
}

// cLibraryModule reports shared libraries of the system and of desktops; those
// nobody knows may well be the program's own.
func cLibraryModule(module string) bool {
	if module == "" {
		return false
	}
	if cSystemModule(module) {
		return true
	}
	base := strings.ToLower(cModule(module))
	if startsWith(base,
		"libqt", "qt5", "qt6", "qtcore", "qtgui", "qtwidgets", "libglib", "libgobject", "libgio", "libgtk", "libgdk", "libx11", "libxcb", "libgl", "libegl", "libdrm", "libwayland", "libnvidia", "nvoglv", "atio6axx", "igdkmd", "libvulkan",
		"libssl", "libcrypto", "libcurl", "libz.", "libxml2", "libpython", "python", "libjvm", "libv8", "libnode", "libruby", "libperl", "liblua", "libcuda", "libcudart", "libmpi", "libopen-", "libtbb", "libgomp", "libboost", "libdbus", "libffi", "libuv.", "libtcmalloc", "libjemalloc",
		"libswift", "corefoundation", "foundation", "appkit", "hitoolbox", "libobjc", "libdispatch", "uikit", "graphicsservices", "quartzcore", "coregraphics", "user32", "gdi32", "combase", "ole32", "rpcrt4", "shell32", "mfc", "d3d", "dxgi", "opengl32",
	) {
		return true
	}
	return strings.HasPrefix(module, "/System/Library/")
}

// cSystemModule reports the C and C++ runtimes and what sanitizers preload.
func cSystemModule(module string) bool {
	base := strings.ToLower(cModule(module))
	if startsWith(base,
		"libc.", "libc-", "libm.", "libm-", "libdl", "librt.", "libpthread", "libstdc++", "libgcc_s", "libc++", "ld-", "ld.so", "ld64", "linux-vdso", "linux-gate", "libasan", "libubsan", "libtsan", "libmsan", "liblsan", "libclang_rt", "clang_rt",
		"libsystem_", "libdyld", "dyld", "libsystem.", "ntdll", "kernel32", "kernelbase", "ucrtbase", "msvcr", "msvcp", "vcruntime", "wow64", "libsegfault", "libmusl", "ld-musl", "libunwind",
	) {
		return true
	}
	return base == "[vdso]" || base == "[vsyscall]" || base == "[unknown]"
}

// cModule returns a binary's name without folder and version.
func cModule(module string) string {
	module = strings.ReplaceAll(module, `\`, "/")
	base := module[strings.LastIndexByte(module, '/')+1:]
	if k := strings.Index(base, ".so."); k > 0 {
		base = base[:k+3]
	}
	return strings.TrimPrefix(base, "lt-") // libtool's
}

// cBareName takes a name's arguments, template arguments and suffixes off.
func cBareName(function string) string {
	s := demangle(function)
	s = strings.TrimPrefix(s, "-[") // Objective-C keeps its brackets otherwise
	for _, prefix := range []string{"virtual thunk to ", "non-virtual thunk to ", "guard variable for ", "static ", "inlined "} {
		s = strings.TrimPrefix(s, prefix)
	}
	s = strings.NewReplacer("[abi:cxx11]", "", "(anonymous namespace)", "{anonymous}", "`anonymous namespace'", "{anonymous}", "`anonymous-namespace'", "{anonymous}", "std::__cxx11::", "std::", "std::__1::", "std::", "std::__debug::", "std::").Replace(s)
	s = cNoArguments(s)
	for _, suffix := range []string{".isra.", ".part.", ".constprop.", ".cold", ".lto_priv", ".llvm."} {
		if k := strings.Index(s, suffix); k > 0 {
			s = s[:k]
		}
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), " const")
	if k := strings.LastIndexByte(s, ' '); k > 0 && !strings.Contains(s, "operator") && !strings.HasPrefix(s, "<") {
		s = s[k+1:] // what a template returns
	}
	if k := strings.IndexByte(s, '@'); k > 0 { // a symbol's version
		s = s[:k]
	}
	return strings.TrimSpace(s)
}

// cNoArguments drops everything between brackets, angles too, except in
// operator names and for closures, which become what they stand in.
func cNoArguments(s string) string {
	if !strings.ContainsAny(s, "(<{[$") {
		return s
	}
	var b strings.Builder
	depth := 0
	for k := 0; k < len(s); k++ {
		switch c := s[k]; c {
		case '(', '<', '[':
			if depth == 0 && strings.HasSuffix(b.String(), "operator") {
				k = cOperator(s, k, &b)
				continue
			}
			depth++
		case ')', '>', ']':
			if depth == 0 && strings.HasSuffix(b.String(), "operator") || c == '>' && k > 0 && s[k-1] == '-' {
				if depth == 0 {
					b.WriteByte(c)
				}
				continue
			}
			depth = max(0, depth-1)
		case '{':
			if strings.HasPrefix(s[k:], "{anonymous}") && depth == 0 {
				b.WriteString("{anonymous}")
				k += len("{anonymous}") - 1
				continue
			}
			depth++
		case '}':
			depth = max(0, depth-1)
		default:
			if depth == 0 {
				b.WriteByte(c)
			}
		}
	}
	return cClosure(b.String())
}

// cOperator writes the sign of an operator and returns its last index.
func cOperator(s string, k int, b *strings.Builder) int {
	end := k
	for end < len(s) && strings.IndexByte("<>=[]", s[end]) >= 0 {
		end++
	}
	if end == k { // operator()
		end = min(len(s), k+2)
	}
	b.WriteString(s[k:end])
	return end - 1
}

// cClosure cuts a name at a closure: "run::$_0::operator()", "run()::{lambda()#1}".
func cClosure(s string) string {
	for _, mark := range []string{"::$_", "::'lambda", "::lambda", "$_", "::__lambda"} {
		if k := strings.Index(s, mark); k > 0 {
			s = s[:k]
		}
	}
	if k := strings.Index(s, "::::operator()"); k > 0 { // what stood between was {lambda(…)#1}
		s = s[:k]
	}
	s = strings.ReplaceAll(s, "::::", "::")
	return strings.TrimSuffix(s, "::")
}

// cCanonical keeps the file's name and the function's; of a frame without
// symbols the binary, and the offset in it, which one build's have in common.
func cCanonical(f Frame) Frame {
	path := strings.ReplaceAll(f.File, `\`, "/")
	c := Frame{File: path[strings.LastIndexByte(path, '/')+1:], Line: f.Line}
	name := cBareName(f.Function)
	if at := strings.Index(name, "+0x"); at > 0 {
		name = name[:at]
	}
	switch {
	case name == "" || name == "??" || f.Module == undefinedPlace:
	case strings.HasPrefix(name, "+0x"):
		c.Function = name
	default:
		c.Function = strings.TrimPrefix(name, "{anonymous}::")
	}
	if c.File == "" && c.Function == "" {
		c.Module = cModule(f.Module)
	}
	return c
}
