package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// Process is the environment that a command may use.
type Process struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Exit   func(code int) // ends the process at once, after a second signal
	// Guard starts a guardian, which kills leftovers of this process's jobs if the process is killed. nil means none.
	Guard  func(log *slog.Logger) (stop func(), err error)
	Engine Engine
}

// session is one command's view of its Process.
type session struct {
	context.Context //nolint:containedctx // lives exactly as long as the command
	Process
	early chan os.Signal // signals that came before heed; nil unless the command serves
	json  bool
	out   *printer
	now   func() time.Time
	root  *cmdline.Command
}

// Main runs one command and returns the exit code. The end of ctx ends the command early. Commands that serve also heed
// SIGINT, SIGTERM and SIGHUP.
func Main(ctx context.Context, p Process) int {
	early := early(p.Args)
	defer signal.Stop(early)
	var root grammar
	parser, err := newParser(&root)
	if err != nil {
		panic(fmt.Sprintf("cli: the grammar is broken: %v", err))
	}
	args := p.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	args = spelled(args)
	parsed, err := parser.Parse(args)
	if err != nil {
		return p.fail(usageError(err, args), asksJSON(args))
	}
	s := &session{Context: ctx, Process: p, early: early, json: root.JSON, now: time.Now, root: parser.Root}
	s.out = newPrinter(p.Stdout, p.Getenv)
	switch {
	case parsed.Has("help"):
		s.out.printf("%s", parser.HelpFor(parsed.Command, p.helpWidth()))
	case root.Version:
		s.out.printf("%s\n", readVersion().line())
	default:
		if err := s.run(parsed.Command); err != nil {
			return p.fail(s.suggest(err, parsed.Command), s.json)
		}
	}
	if err := s.out.lost(); err != nil {
		return p.fail(err, s.json)
	}
	return exitOK
}

func newParser(root *grammar) (*cmdline.Parser, error) {
	return cmdline.New(root, cmdline.Options{
		Name: "bezoar", Help: "Blames the work, fairly, and keeps the fleet alive.", Groups: groups(), Reader: flagReader,
	})
}

// helpWidth returns the width of the help: the terminal's, of at most 100 columns.
func (p Process) helpWidth() int {
	width := 80
	if columns, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil {
		width = columns
	} else if f, ok := p.Stdout.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 { //nolint:gosec // descriptors are small
			width = columns
		}
	}
	return min(width, 100)
}

// run runs the command. A command that talks to a running Bezoar gets a client.
func (s *session) run(command *cmdline.Command) error {
	switch c := command.Target.(type) {
	case interface{ Run(s *session) error }:
		return c.Run(s)
	case interface {
		client(s *session) (*adminapi.Client, error)
		Run(s *session, api *adminapi.Client) error
	}:
		api, err := c.client(s)
		if err != nil {
			return err
		}
		defer api.Close()
		return c.Run(s, api)
	}
	panic("cli: " + command.FullPath() + " cannot run")
}

const exitHelp = "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 not allowed, 5 the plan or the settings changed first, " +
	"6 partly done, 7 timed out waiting, 8 unhealthy or not reachable."

// fail prints an error and returns the exit code.
func (p Process) fail(err error, asJSON bool) int {
	if errors.Is(err, context.Canceled) {
		err = &exitError{code: exitFailure, err: errors.New("interrupted")}
	}
	p.complain(err, asJSON)
	return codeOf(err)
}

// failed is an error in JSON, one line for each. The members that problem documents of the API have too are called the same.
type failed struct {
	Error    string         `json:"error"`
	Hint     string         `json:"hint,omitempty"`
	ExitCode int            `json:"exit_code"`
	Code     string         `json:"code,omitempty"` // the API's
	Faults   []config.Fault `json:"faults,omitempty"`
	More     int            `json:"more,omitempty"`
}

// complain prints an error on stderr.
func (p Process) complain(err error, asJSON bool) {
	hint := hintFor(err)
	if !asJSON {
		fmt.Fprintf(p.Stderr, "bezoar: %s\n", spoken(err))
		if hint != "" {
			fmt.Fprintf(p.Stderr, "hint: %s\n", hint)
		}
		return
	}
	out := failed{Error: spoken(err), Hint: hint, ExitCode: codeOf(err)}
	if problem, ok := errors.AsType[*adminapi.Problem](err); ok {
		out.Code, out.Faults, out.More = problem.Code, problem.Faults, problem.More
	} else if faults, ok := errors.AsType[*config.Faults](err); ok {
		out.Faults, out.More = faults.List, faults.More
	}
	text := json.NewEncoder(p.Stderr)
	text.SetEscapeHTML(false)
	_ = text.Encode(out) // there is no other place to say it
}

// asksJSON reports whether --json is among the flags of a command line that cannot be read.
func asksJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// otherWords says what to do instead of commands that other programs have.
var otherWords = map[string]string{
	"status":  "bezoar fleet ls shows the workers, bezoar queue ls the queues, bezoar doctor what is wrong",
	"ps":      "bezoar fleet ls shows the workers",
	"logs":    "Bezoar writes its log and its workers' output to the terminal or the service manager that started it; see journalctl -u bezoar",
	"stop":    "press Ctrl-C where Bezoar runs, or send it SIGTERM (systemctl stop bezoar)",
	"start":   "bezoar run -- CMD starts a server behind the gateway, bezoar serve what a settings file names",
	"restart": "bezoar fleet restart NAME replaces the workers of a fleet one after another",
	"reload":  "Bezoar follows its settings file; bezoar config status shows what runs",
	"check":   "bezoar config check FILE checks settings",
}

// usageError adds which help to read, and recognises common mistakes.
func usageError(err error, args []string) error {
	var words []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			break
		}
		words = append(words, a)
	}
	parse, _ := errors.AsType[*cmdline.Error](err)
	path := parse.Command.FullPath()
	unknownFlag := strings.HasPrefix(err.Error(), "unknown flag")
	if parse.Command.Parent == nil && len(words) > 0 && unknownFlag {
		path += " " + strings.Join(words, " ")
	}
	hint := path + " --help"
	if len(words) > 0 && (words[0] == "run" || words[0] == "sift") && unknownFlag {
		hint = "flags of the command to run belong behind --: bezoar " + words[0] + " -- CMD ARGS"
	}
	if rest, ok := strings.CutPrefix(err.Error(), "unexpected argument "); ok && len(parse.Command.Children) > 0 {
		err = errors.New("there is no command " + rest)
		if name, _, _ := strings.Cut(rest, ","); parse.Command.Parent == nil && otherWords[name] != "" {
			err, hint = errors.New("there is no command "+name), otherWords[name]
		}
	}
	return &exitError{code: exitUsage, err: err, hint: hint}
}

// guard starts the guardian; stop ends it.
func (s *session) guard(log *slog.Logger) (stop func()) {
	if s.Guard == nil {
		return func() {}
	}
	stop, err := s.Guard(log)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return func() {}
	case err != nil:
		log.Warn("there is no guardian: if this process is killed, processes that its jobs have started keep running", "err", err)
		return func() {}
	}
	return stop
}

// spelled turns "help COMMAND" into "COMMAND --help".
func spelled(args []string) []string {
	if args[0] != "help" {
		return args
	}
	words := args[1:]
	for i, a := range words {
		if strings.HasPrefix(a, "-") {
			words = words[:i]
			break
		}
	}
	return append(slices.Clone(words), "--help")
}

// say prints a message for people on stderr.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.Stderr, format+"\n", args...)
}
