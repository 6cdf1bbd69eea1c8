package crash

import "strings"

// python reads tracebacks as the interpreter, its logging, IPython, Rich,
// loguru, Django, Sentry and pytest print them, and faulthandler's dumps.
func python() language {
	return language{
		name:      "python",
		begins:    pyBegins,
		read:      pyRead,
		library:   pyLibrary,
		ignore:    pyIgnore,
		canonical: pyCanonical,
		vague:     pyVague,
		kind:      pyKind,
		class:     pyClass,
		pooled:    pyPooled,
	}
}

const (
	pyHead     = "Traceback (most recent call last)"
	pyFatal    = "Fatal Python error: "
	pyWinFatal = "Windows fatal exception: "
)

func pyBegins(l string) bool {
	if strings.Contains(l, pyHead) {
		return true
	}
	if strings.Contains(l, ".py") && (strings.Contains(l, ".py:") && pytestPlace(l).ok || pyBroken(l)) {
		return true
	}
	m := pyMargin(l)
	if len(m) < 8 {
		return strings.HasPrefix(m, "E  ")
	}
	switch m[0] {
	case 'F':
		return strings.HasPrefix(m, `File "`) || strings.HasPrefix(m, pyFatal) ||
			strings.HasPrefix(m, "File ") && pyFrame(m).ok
	case 'C', 'I', '<':
		return pyFrame(m).ok || strings.HasPrefix(m, "Current thread 0x")
	case 'E':
		return strings.HasPrefix(m, "E   ")
	case 'T':
		return strings.HasPrefix(m, "Traceback:") || pyThread(m)
	case 'W':
		return strings.HasPrefix(m, pyWinFatal)
	}
	return false
}

func pyRead(lines []string, i int) (trace, int, bool) {
	m := pyMargin(lines[i])
	switch {
	case strings.HasPrefix(m, pyFatal), strings.HasPrefix(m, pyWinFatal), pyThread(m):
		return pyReadFault(lines, i)
	case strings.HasPrefix(m, "E  "), !strings.Contains(m, pyHead) && pytestPlace(lines[i]).ok:
		return pyReadTest(lines, i)
	case !strings.Contains(m, pyHead) && strings.Contains(m, "Error: "):
		if frames, e, ended := pyGlued(m); ended {
			e.frames = frames
			pyFinish(&e)
			return trace{chain: []exception{e}, fatal: true, class: pyClass(e)}, i + 1, true
		}
	}
	r := pyReader{lines: lines, i: i}
	if !r.read() {
		return trace{}, i, false
	}
	return r.trace(), r.i, true
}

// pyLibrary knows the folders that packages are installed to and the names
// that the interpreter gives to code without a file.
func pyLibrary(f Frame) bool {
	if f.File == "" || strings.HasPrefix(f.File, "<") {
		return !pyTyped(f)
	}
	if pyStdlib(f.File) {
		return true
	}
	p := strings.TrimPrefix(slashed(f.File), ".../")
	if spoken(p, pyPackages...) {
		return true
	}
	if strings.HasSuffix(p, ".pyx") || strings.HasSuffix(p, ".pxi") || strings.HasSuffix(p, ".pxd") {
		return true
	}
	if first, _, deep := strings.Cut(p, "/"); deep && listed(pyWellKnown, first) {
		return true
	}
	return pyLauncher(p, f.Function)
}

// pyPackages are parts of paths, in lower case with slashes, that only
// installed code has.
var pyPackages = []string{
	"site-packages/", "dist-packages/", "/pymodules/", "/pyshared/", ".egg/", "/eggs/", "bdist.",
	"/__pypackages__/", "/.pex/", "/_vendor/", "/node-gyp/gyp/", "/google_appengine/",
	"/var/runtime/", "/pypi__", "pyinstaller/", "/site-packages", "/dist-packages",
	"library.zip/", "base_library.zip/", "/opt/python/", "/spark/python/", "pyspark.zip/", "-src.zip/",
}

// pyWellKnown are packages that frozen programs and error trackers print
// without the folder they are installed to.
const pyWellKnown = " requests urllib3 django flask werkzeug jinja2 click celery kombu billiard sqlalchemy" +
	" numpy pandas scipy matplotlib sklearn torch tensorflow aiohttp discord starlette fastapi uvicorn" +
	" pydantic twisted tornado gunicorn eventlet gevent boto boto3 botocore redis pymongo psycopg2 pymysql" +
	" rest_framework sentry_sdk raven elasticsearch google pkg_resources setuptools pip wx pyqt5 httpx anyio" +
	" httpcore kivy pygame yaml lxml bs4 selenium nose pytest _pytest pluggy marshmallow graphql graphene" +
	" newrelic ddtrace opentelemetry asgiref channels daphne pyspark py4j "

// pyLauncher reports the scripts that installers write to call a package.
func pyLauncher(p, function string) bool {
	if function != "" && function != "<module>" {
		return false
	}
	if strings.HasSuffix(p, ".exe/__main__.py") || strings.HasSuffix(p, "-script.py") {
		return true
	}
	dir, base := splitBase(p)
	return !strings.Contains(base, ".") &&
		(strings.HasSuffix(dir, "/bin") || strings.HasSuffix(dir, "/scripts") || dir == "bin")
}

// pyStdlib reports the interpreter's own modules.
func pyStdlib(file string) bool {
	if strings.HasPrefix(file, "<frozen") {
		return true
	}
	p := strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	if strings.Contains(p, "site-packages/") || strings.Contains(p, "dist-packages/") {
		return false
	}
	if spoken(p, "/lib/python2", "/lib/python3", "/lib64/python", "/lib/pypy", "/lib-python/", "/python.framework/versions/") {
		return true
	}
	if before, _, ok := strings.Cut(p, "/lib/"); ok && pyHome(before) {
		return true
	}
	if strings.Contains(p, ".zip/") && strings.Contains(p, "python") {
		return true
	}
	first, _, deep := strings.Cut(p, "/")
	if deep {
		return listed(pyStdFolders, first)
	}
	return listed(pyStdFiles, p)
}

// pyHome reports whether a folder is where Windows' installers put Python.
func pyHome(dir string) bool {
	return spoken(dir, "/python", "conda", "winpython", "miniforge", "/mambaforge", "/ironpython", "/jython")
}

// Frozen programs print the standard library's files without a folder.
const (
	pyStdFolders = " asyncio json urllib http concurrent multiprocessing ctypes encodings email importlib" +
		" logging unittest xml sqlite3 tkinter distutils collections xmlrpc wsgiref lib2to3 "
	pyStdFiles = " socket.py ssl.py subprocess.py threading.py runpy.py os.py re.py codecs.py pathlib.py" +
		" shutil.py tempfile.py zipfile.py tarfile.py contextlib.py functools.py socketserver.py" +
		" selectors.py sre_parse.py sre_compile.py configparser.py urllib2.py httplib.py cmd.py pickle.py" +
		" ntpath.py posixpath.py genericpath.py inspect.py abc.py ast.py copy.py csv.py enum.py typing.py" +
		" dataclasses.py datetime.py decimal.py random.py traceback.py uuid.py weakref.py locale.py "
)

// pyTyped reports whether somebody typed the code, into a shell or behind
// python3 -c. Other code in <string> was made by a program.
func pyTyped(f Frame) bool {
	if f.File == "<string>" {
		return f.Function == "<module>"
	}
	return startsWith(f.File, "<stdin>", "<ipython-input", "<console>", "<cell", "<input>", "<doctest", "<command")
}

func pyIgnore(f Frame) bool {
	if f.File == "" {
		return true
	}
	if strings.HasPrefix(f.File, "<") && !pyTyped(f) {
		return true
	}
	switch f.Function {
	case "reraise", "raise_from", "raise_exc_info", "_reraise", "_bootstrap_inner", "_call_with_frames_removed":
		return true
	}
	return false
}

// pyCanonical keeps a file's base name, with its folder where the name is one
// that every package has, and the plain name of a function.
func pyCanonical(f Frame) Frame {
	p := strings.ReplaceAll(f.File, `\`, "/")
	dir, base := splitBase(p)
	switch {
	case strings.HasPrefix(p, "<") || strings.Contains(p, "ipykernel_"):
		base = pyNameless(p)
	case strings.HasPrefix(base, "__"):
		_, f.Module = splitBase(dir)
	case base == "setup.py" && f.source == "" && strings.Contains(dir, "/pip-"):
		_, f.Module = splitBase(dir)
		f.Module, _, _ = strings.Cut(f.Module, "_") // pip adds a hash
	}
	if s, ok := strings.CutSuffix(base, ".pyc"); ok {
		base = s + ".py"
	}
	f.File, f.Function = base, pyFunction(f.Function)
	if f.Function == "<module>" && f.source != "" {
		f.Module += ":" + strings.Join(strings.Fields(f.source), " ") // many files are named alike
	}
	return f
}

// pyNameless strips the number from a name like <ipython-input-3-5f2a> and all
// of the temporary files that notebooks compile cells to.
func pyNameless(p string) string {
	if strings.HasPrefix(p, "<ipython-input") || strings.HasPrefix(p, "<cell") || strings.Contains(p, "ipykernel_") {
		return "<cell>"
	}
	if at := strings.IndexAny(p, "-0123456789"); at > 0 && strings.HasSuffix(p, ">") {
		return p[:at] + ">"
	}
	return p
}

// pyFunction strips arguments and everything a name is qualified with.
func pyFunction(fn string) string {
	if fn == "?" {
		return "<module>"
	}
	if at := strings.IndexByte(fn, '('); at > 0 {
		fn = fn[:at]
	}
	if strings.HasPrefix(fn, "<cell line") {
		return "<module>"
	}
	if at := strings.LastIndexByte(fn, '.'); at >= 0 && at+1 < len(fn) {
		fn = fn[at+1:]
	}
	return fn
}
