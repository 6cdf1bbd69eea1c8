package crash

import "strings"

// phpSigns are made once: the table is made for each output.
var phpSigns = []string{"error: ", "Error message: Uncaught ", "[object] (", ".php", "xception '", "Uncaught PHP Exception "}

// php reads fatal errors and uncaught exceptions as PHP 5 to 8 write them, to
// logs or as text, and as Monolog, Laravel, Symfony, Xdebug and PHPUnit do.
func php() language {
	return language{
		name:      "php",
		begins:    phpBegins,
		signs:     phpSigns,
		starts:    "#",
		read:      phpRead,
		library:   phpLibrary,
		ignore:    func(f Frame) bool { return f.File == "" },
		canonical: phpCanonical,
		vague:     func(string) bool { return true },
		kind:      phpKind,
		class:     phpClass,
	}
}

func phpBegins(l string) bool {
	if strings.Contains(l, "error: ") && phpLevel(l) != "" || strings.HasPrefix(l, "Error message: Uncaught ") {
		return true // WordPress wraps its mails
	}
	if strings.Contains(l, "[object] (") && strings.Contains(l, "(code: ") {
		return true
	}
	if strings.Contains(l, ".php") {
		return phpPlaced(l) || phpStep(l).ok || phpAt(l).ok || phpListed(l).ok
	}
	if strings.Contains(l, "xception '") && strings.Contains(l, "' with message '") {
		return true
	}
	return len(l) > 4 && l[0] == '#' && phpStep(l).ok || strings.Contains(l, "Uncaught PHP Exception ")
}

// phpPackages are parts of paths, in lower case with slashes, that only
// installed code has: Composer's, PEAR's, WordPress's and Drupal's own.
var phpPackages = []string{
	"/vendor/", "wp-includes/", "wp-admin/", "phar://", "/usr/share/php", "/usr/share/pear", "/php/pear/",
	"/core/lib/drupal/", "/core/includes/", "/3rdparty/", "/lib/private/", "/cache/classes.php", "/bootstrap/cache/",
	"wp-settings.php", "wp-load.php", "wp-config.php", "wp-blog-header.php", "wp-cron.php", "/library/zend/",
	"/vendor-bin/", "/vendor_prefixed/", "/vendor-prefixed/",
}

func phpLibrary(f Frame) bool {
	p := slashed(f.File)
	return p == "" || strings.HasPrefix(p, "vendor/") || spoken(p, phpPackages...)
}

// phpCanonical keeps the file alone. Whether PHP prints a backtrace, and so the
// function, depends on its settings; the discriminator tells the bugs of one
// file apart instead.
func phpCanonical(f Frame) Frame {
	_, base := splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	name, ext, _ := strings.Cut(base, ".")
	if len(name) >= 32 && isLowerHex(name) {
		base = "<view>." + ext
	}
	return Frame{File: base, Line: f.Line, Function: "<file>"}
}

// phpKind takes what was a fatal error until PHP 7 for the exception it became.
func phpKind(e exception) string {
	last := lastSegment(e.typ, `\`)
	switch last {
	case "Fatal error", "FatalErrorException", "FatalThrowableError", "FatalError", "UndefinedFunctionException", "UndefinedFunctionError", "UndefinedMethodError", "ClassNotFoundError":
		if strings.HasPrefix(e.message, "Argument ") {
			return "TypeError"
		}
		return "Error"
	case "Catchable fatal error", "Recoverable fatal error", "FatalTypeError", "TypeException":
		return "TypeError"
	case "Parse error", "ParseErrorException":
		return "ParseError"
	}
	if strings.HasPrefix(e.typ, "class@anonymous") {
		return "class@anonymous"
	}
	return last
}

func phpClass(e exception) string {
	switch {
	case strings.HasPrefix(e.message, "Allowed memory size of"), strings.HasPrefix(e.message, "Out of memory"):
		return "oom"
	case strings.HasPrefix(e.message, "Maximum execution time of"):
		return "timeout"
	case strings.Contains(e.message, "[2002]"), strings.Contains(e.message, "[2006]"), strings.HasPrefix(e.message, "cURL error 7"),
		strings.HasPrefix(e.message, "cURL error 6:"), strings.HasPrefix(e.message, "cURL error 28"), strings.HasSuffix(e.typ, `\ConnectException`):
		return "outage"
	}
	return ""
}

// phpCode finds what tells errors of one file apart: an SQLSTATE, or the name
// that the engine did not find or did not like. Words of a program's own stay
// out: they have data in them.
func phpCode(e exception) string {
	if s, ok := between(e.message, "SQLSTATE[", "]"); ok {
		if s == "HY000" {
			if n, ok := between(e.message, "SQLSTATE[HY000] [", "]"); ok {
				return n
			}
			if _, rest, ok := strings.Cut(e.message, "General error: "); ok {
				if _, tail, ok := leadingNumber(rest); ok {
					return rest[:len(rest)-len(tail)]
				}
			}
		}
		return s
	}
	switch phpKind(e) {
	case "Error", "TypeError", "ArgumentCountError", "ValueError", "ErrorException", "Warning", "Notice", "Deprecated":
		return phpName(e.message)
	}
	return ""
}

// phpNamed are the ways in which the engine's messages introduce a name.
var phpNamed = []string{
	"Call to undefined function ", "Call to undefined method ", "Call to a member function ", "Cannot redeclare ",
	"Undefined variable: ", "Undefined variable $", "Undefined index: ", "Undefined array key ", "Undefined constant ",
	"Use of undefined constant ", "Undefined property: ", "Class ", "Interface ", "Trait ", "Trying to get property ",
	"Attempt to read property ", "Undefined offset: ", "Too few arguments to function ", "Call to private method ",
	"Call to protected method ", "Cannot access private property ", "Access to undeclared static property: ",
	"Cannot declare class ", "Cannot instantiate abstract class ", "Cannot instantiate interface ",
	"Attempted to call function ", "Attempted to load class ", "Attempted to call an undefined method named ",
	"Declaration of ", "Unknown named parameter ", "Allowed memory size", "Maximum execution time",
}

func phpName(msg string) string {
	for _, s := range phpNamed {
		rest, ok := strings.CutPrefix(msg, s)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, `'"\$`)
		if at := strings.IndexAny(rest, `('" ,`); at >= 0 {
			rest = rest[:at]
		}
		return strings.ToLower(lastSegment(strings.TrimSuffix(rest, ","), `\:$`))
	}
	// Argument 1 passed to X::f() must be …; since PHP 8 X::f(): Argument #1 ($a) must be …
	if rest, ok := strings.CutPrefix(msg, "Argument "); ok {
		if fn, ok := between(rest, "passed to ", "("); ok {
			return strings.ToLower(lastSegment(fn, `\:`))
		}
	}
	if fn, _, ok := strings.Cut(msg, "() expects "); ok && !strings.Contains(fn, " ") {
		return strings.ToLower(lastSegment(fn, `\:`))
	}
	if fn, _, ok := strings.Cut(msg, "(): "); ok && !strings.Contains(fn, " ") {
		return strings.ToLower(lastSegment(fn, `\:`))
	}
	return discriminator(msg)
}
