package crash

import "strings"

// rubySigns are made once: the table is made for each output.
var rubySigns = []string{":in `", ":in '", ":in\"", ":in`", ":in'", ".rb:", ".rb\"", ".rb(", ".erb", ".haml", pyHead}

// ruby reads backtraces as the interpreter prints them, in either order, and
// those of logs: Rails, Rake, RSpec, minitest, Bundler, irb.
func ruby() language {
	return language{
		name:      "ruby",
		begins:    rubyBegins,
		signs:     rubySigns,
		starts:    " \tfl",
		read:      rubyRead,
		library:   rubyLibrary,
		ignore:    rubyIgnore,
		canonical: rubyCanonical,
		vague:     rubyVague,
		kind:      rubyKind,
		class:     rubyClass,
	}
}

func rubyBegins(l string) bool {
	if strings.Contains(l, ":in") {
		if rubyFrame(l).ok {
			return true
		}
	}
	if strings.Contains(l, ".rb") || strings.Contains(l, ".erb\"") || strings.Contains(l, ".haml\"") {
		return rubyFrame(l).ok
	}
	if len(l) > 5 && (l[0] == '\t' || l[0] == ' ' || l[0] == 'f') {
		s := strings.TrimLeft(l, " \t")
		return strings.HasPrefix(s, "from ") && rubyFrame(l).ok
	}
	return strings.Contains(l, pyHead)
}

// rubyPackages are parts of paths, in lower case with slashes, that only Ruby's
// own and installed code has.
var rubyPackages = []string{
	"/gems/", "/lib/ruby/", "/rubygems/", "/.rbenv/", "/.rvm/", "/rubies/", "/library/ruby/", "/ruby.framework/",
	"/usr/share/ruby", "/embedded/lib/", "/jruby", "uri:classloader", "org/jruby/", ".jar!", "vendor/bundle/",
	"/ruby/site_ruby/", "/ruby/vendor_ruby/", "/usr/lib/ruby", "/rubinius/", "kernel/common/", "/ruby-install/",
	"homebrew/library/homebrew/vendor/",
}

func rubyLibrary(f Frame) bool {
	if strings.HasPrefix(f.File, "<") || strings.HasPrefix(f.File, "(eval") {
		return true
	}
	p := slashed(f.File)
	if at := strings.Index(p, " ("); at > 0 && at+2 < len(p) && p[at+2] >= '0' && p[at+2] <= '9' {
		return true // Rails: actionpack (3.2.1) lib/x.rb
	}
	if strings.HasPrefix(p, "[gem_root]") {
		return true
	}
	if spoken(p, rubyPackages...) || strings.HasPrefix(p, "gems/") || strings.HasSuffix(p, ".java") {
		return true
	}
	if at := strings.Index(p, "/ruby"); at >= 0 && strings.Contains(p[at:], "/lib/ruby/") {
		return true
	}
	dir, base := splitBase(p)
	if strings.Contains(base, ".") {
		return false
	}
	// the scripts that RubyGems and Rails write to call a program
	return strings.HasSuffix(dir, "/bin") || dir == "bin" || dir == "script" || strings.HasSuffix(dir, "/script") ||
		strings.HasSuffix(dir, "/exe")
}

func rubyIgnore(f Frame) bool {
	return strings.HasPrefix(f.File, "<internal:") || strings.HasPrefix(f.File, "(eval") ||
		strings.HasSuffix(f.File, "kernel_require.rb") || strings.HasSuffix(f.File, "custom_require.rb")
}

// rubyCanonical strips from a method what versions print differently: blocks,
// the class since 3.4, the numbers of compiled templates.
func rubyCanonical(f Frame) Frame {
	_, f.File = splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	if strings.HasPrefix(f.File, "(irb") || strings.HasPrefix(f.File, "(eval") {
		f.File = f.File[:strings.IndexAny(f.File+")", " )")]
	}
	fn := f.Function
	for _, p := range []string{"block ", "rescue ", "ensure "} {
		for strings.HasPrefix(fn, p) {
			at := strings.Index(fn, " in ")
			if at < 0 {
				break
			}
			fn = fn[at+len(" in "):]
		}
	}
	switch {
	case fn == "" || fn == "<top (required)>" || fn == "<compiled>" || strings.HasPrefix(fn, "irb_binding"):
		fn = "<main>"
	case strings.HasPrefix(fn, "<"):
	default:
		fn = lastSegment(fn, "#.")
	}
	if strings.HasSuffix(fn, "!") || strings.HasSuffix(fn, "?") {
		f.Function = fn
		return f
	}
	if at := strings.Index(fn, "__"); at > 0 && strings.HasPrefix(fn, "_") {
		fn = strings.TrimRight(fn[:strings.LastIndex(fn, "__")], "_")
	}
	f.Function = fn
	return f
}

func rubyVague(typ string) bool {
	last := lastSegment(typ, ":")
	return strings.HasPrefix(typ, "Errno::") ||
		listed(" Error StandardError RuntimeError Exception LoadError SystemExit ScriptError SystemCallError StatementInvalid ClientError ", last)
}

// rubyKind names a type by its last part, and by its last two where that says
// nothing: libraries move their errors between modules.
func rubyKind(e exception) string {
	if strings.HasPrefix(e.typ, "ActionView::Template") {
		if s := rubySpoken(e.message); s != "" {
			return s
		}
	}
	parts := strings.Split(e.typ, "::")
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == "Error" || parts[0] == "Errno" || last == "Exception") {
		return parts[len(parts)-2] + "::" + last
	}
	return last
}

// rubySpoken returns the type that one of the interpreter's own messages has.
func rubySpoken(msg string) string {
	for _, s := range rubyMessages {
		if strings.Contains(msg[:min(len(msg), 60)], s[0]) {
			return s[1]
		}
	}
	return ""
}

var rubyMessages = [][2]string{
	{"undefined method", "NoMethodError"},
	{"private method", "NoMethodError"},
	{"undefined local variable", "NameError"},
	{"uninitialized constant", "NameError"},
	{"wrong number of arguments", "ArgumentError"},
	{"cannot load such file", "LoadError"},
	{"no such file to load", "LoadError"},
	{"no implicit conversion", "TypeError"},
	{"can't convert", "TypeError"},
	{"can't be coerced", "TypeError"},
	{"stack level too deep", "SystemStackError"},
	{"key not found", "KeyError"},
	{"divided by 0", "ZeroDivisionError"},
	{"Connection refused", "Errno::ECONNREFUSED"},
	{"No such file or directory", "Errno::ENOENT"},
}

// rubyCode returns an errno, the feature that could not be loaded, the
// driver's error.
func rubyCode(typ, msg string) string {
	if s, ok := strings.CutPrefix(typ, "Errno::"); ok {
		return s
	}
	for _, s := range []string{"cannot load such file -- ", "no such file to load -- "} {
		if _, rest, ok := strings.Cut(msg, s); ok {
			rest, _, _ = strings.Cut(rest, " ")
			return lastSegment(rest, `/\`)
		}
	}
	if s, ok := strings.CutPrefix(msg, "PG::"); ok {
		s, _, _ = strings.Cut(s, ":")
		return s
	}
	return ""
}

func rubyClass(e exception) string {
	switch e.typ {
	case "NoMemoryError":
		return "oom"
	case "Timeout::Error", "Timeout::ExitException", "Rack::Timeout::RequestTimeoutException", "Rack::Timeout::RequestTimeoutError":
		return "timeout"
	case "Errno::ECONNREFUSED", "Errno::ECONNRESET", "Errno::ETIMEDOUT", "Errno::EHOSTUNREACH", "Errno::ENETUNREACH",
		"SocketError", "Socket::ResolutionError", "Net::OpenTimeout", "Net::ReadTimeout", "PG::ConnectionBad", "Redis::CannotConnectError",
		"Faraday::ConnectionFailed", "Mysql2::Error::ConnectionError", "ActiveRecord::ConnectionNotEstablished":
		return "outage"
	}
	return ""
}
