package starter

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// maxFile bounds what is read of one file.
const maxFile = 1 << 20

// Guess describes how to start a server.
type Guess struct {
	Command []string // {port} is replaced by the port; without it the program reads $PORT
	From    string   // the file with the command; "": nothing was found
	Before  string   // a command to run first, for people; "": none
	Port    bool     // Command has {port}; otherwise the program must read $PORT
}

// Look guesses from the files of a folder. The first of these counts: Procfile, manage.py, package.json, config.ru, a
// Python module with an application, go.mod, Dockerfile.
func Look(folder fs.FS) (Guess, error) {
	for _, rule := range []func(files) (Guess, bool, error){
		procfile, django, node, rack, python, golang, dockerfile,
	} {
		g, ok, err := rule(files{folder})
		if err != nil || ok {
			g.Port = strings.Contains(strings.Join(g.Command, " "), "{port}")
			return g, err
		}
	}
	return Guess{Command: []string{"./server"}}, nil
}

// files reads a folder. A missing file reads as empty.
type files struct{ fs.FS }

func (f files) read(name string) (string, error) {
	info, err := fs.Stat(f, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return "", nil
	}
	data, err := fs.ReadFile(f, name)
	return string(data), err
}

func procfile(f files) (g Guess, ok bool, err error) {
	text, err := f.read("Procfile")
	for line := range strings.Lines(text) {
		if command, is := strings.CutPrefix(line, "web:"); is && strings.TrimSpace(command) != "" {
			return Guess{Command: shell(strings.TrimSpace(command)), From: "Procfile"}, true, err
		}
	}
	return Guess{}, false, err
}

// assignments are the variables that a command begins with, and the command.
var assignments = regexp.MustCompile(`^((?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"']*)\s+)*)(.*)$`)

// shell runs a line of a shell. The shell makes room for the program if that is all
// there is, so that signals and exit codes are the program's.
func shell(line string) []string {
	if !strings.ContainsAny(line, "&|;\n") {
		line = assignments.ReplaceAllString(line, "${1}exec $2")
	}
	return []string{"sh", "-c", line}
}

func django(f files) (g Guess, ok bool, err error) {
	manage, err := f.read("manage.py")
	if err != nil || manage == "" {
		return Guess{}, false, err
	}
	wants, err := requirements(f)
	if err != nil {
		return Guess{}, false, err
	}
	modules, err := fs.Glob(f, "*/wsgi.py")
	if err != nil {
		return Guess{}, false, err
	}
	if len(modules) > 0 && strings.Contains(wants, "gunicorn") {
		app := path.Dir(modules[0]) + ".wsgi"
		return Guess{Command: []string{"gunicorn", app, "--workers", "1", "--bind", "127.0.0.1:{port}"}, From: "manage.py"}, true, nil
	}
	return Guess{Command: []string{"python3", "manage.py", "runserver", "--noreload", "127.0.0.1:{port}"}, From: "manage.py"}, true, nil
}

// requirements returns the Python packages that a project requires.
func requirements(f files) (string, error) {
	var all strings.Builder
	for _, name := range []string{"requirements.txt", "pyproject.toml", "Pipfile"} {
		text, err := f.read(name)
		if err != nil {
			return "", err
		}
		all.WriteString(strings.ToLower(text))
	}
	return all.String(), nil
}

func node(f files) (g Guess, ok bool, err error) {
	text, err := f.read("package.json")
	if err != nil || text == "" {
		return Guess{}, false, err
	}
	var doc struct {
		Main    string            `json:"main"`
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &doc) != nil {
		return Guess{}, false, nil // it is not our task to report this
	}
	g = Guess{From: "package.json"}
	start := strings.Fields(doc.Scripts["start"])
	switch {
	case len(start) > 1 && start[0] == "node" && !strings.ContainsAny(doc.Scripts["start"], "&|;<>$`\"'"):
		g.Command = start // without npm between Bezoar and the server
	case len(start) > 0:
		g.Command = []string{"npm", "start", "--silent"}
	case doc.Main != "":
		g.Command = []string{"node", doc.Main}
	}
	return g, g.Command != nil, nil
}

func rack(f files) (g Guess, ok bool, err error) {
	text, err := f.read("config.ru")
	if err != nil || text == "" {
		return Guess{}, false, err
	}
	return Guess{Command: []string{"bundle", "exec", "puma", "-w", "0", "-b", "tcp://127.0.0.1:{port}"}, From: "config.ru"}, true, nil
}

// application is a line such as app = FastAPI(…).
var application = regexp.MustCompile(`(?m)^(\w+) *= *(FastAPI|Starlette|Flask|Sanic|Quart)\(`)

func python(f files) (g Guess, ok bool, err error) {
	for _, module := range []string{"main", "app", "server", "wsgi", "asgi"} {
		text, err := f.read(module + ".py")
		if err != nil {
			return Guess{}, false, err
		}
		m := application.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		g = Guess{From: module + ".py"}
		if m[2] == "Flask" {
			g.Command = []string{"gunicorn", module + ":" + m[1], "--workers", "1", "--bind", "127.0.0.1:{port}"}
		} else {
			g.Command = []string{"uvicorn", module + ":" + m[1], "--host", "127.0.0.1", "--port", "{port}"}
		}
		return g, true, nil
	}
	return Guess{}, false, nil
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module +(\S+)`)
	plainName  = regexp.MustCompile(`^[\w.+-]+$`) // can stand in a comment and in a command
)

func golang(f files) (g Guess, ok bool, err error) {
	mod, err := f.read("go.mod")
	if err != nil {
		return Guess{}, false, err
	}
	m := moduleLine.FindStringSubmatch(mod)
	if m == nil {
		return Guess{}, false, nil
	}
	name, pkg := path.Base(m[1]), "."
	if main, err := f.read("main.go"); err != nil || main == "" {
		commands, globErr := fs.Glob(f, "cmd/*/main.go")
		if err = errors.Join(err, globErr); err != nil || len(commands) == 0 {
			return Guess{}, false, err
		}
		name, pkg = path.Base(path.Dir(commands[0])), "./"+path.Dir(commands[0])
	}
	if !plainName.MatchString(name) {
		return Guess{}, false, nil
	}
	return Guess{Command: []string{"./" + name}, From: "go.mod", Before: "go build -o " + name + " " + pkg}, true, nil
}

var (
	// instruction is a line of a Dockerfile about its program, or the begin of a stage.
	instruction = regexp.MustCompile(`(?mi)^[ \t]*(ENTRYPOINT|CMD|FROM)[ \t]+(.+?)[ \t\r]*$`)
	// continued is the end of a line that goes on in the next one.
	continued = regexp.MustCompile(`[ \t]*\\[ \t]*\r?\n[ \t]*`)
)

func dockerfile(f files) (g Guess, ok bool, err error) {
	text, err := f.read("Dockerfile")
	if err != nil {
		return Guess{}, false, err
	}
	var (
		entry, command []string
		alone          bool
	)
	for _, m := range instruction.FindAllStringSubmatch(continued.ReplaceAllString(text, " "), -1) {
		var words []string
		line := json.Unmarshal([]byte(m[2]), &words) != nil
		if line {
			words = shell(m[2])
		}
		switch strings.ToUpper(m[1]) {
		case "FROM":
			entry, command, alone = nil, nil, false
		case "CMD":
			command = words
		default:
			entry, command, alone = words, nil, line // a shell's line takes no arguments
		}
	}
	if alone {
		command = nil
	}
	if words := append(entry, command...); len(words) > 0 {
		return Guess{Command: words, From: "Dockerfile"}, true, nil
	}
	return Guess{}, false, nil
}
