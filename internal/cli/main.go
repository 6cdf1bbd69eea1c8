package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
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
	early  chan os.Signal // signals that came before heed; nil unless the command serves
	json   bool
	out    *printer
	now    func() time.Time
	parser *kong.Kong
}

// Main runs one command and returns the exit code. The end of ctx ends the command early. Commands that serve also heed
// SIGINT, SIGTERM and SIGHUP.
func Main(ctx context.Context, p Process) int {
	early := early(p.Args)
	defer signal.Stop(early)
	var root grammar
	exited := false
	parser, err := kong.New(&root, append(
		flagValues(),
		kong.Name("bezoar"),
		kong.Description("Blames the work, fairly, and keeps the fleet alive."),
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(int) { exited = true }), // after --help; parsing then goes on without effect
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups(groups()),
		kong.Help(printHelp),
		kong.Vars{"version": readVersion().line()},
	)...)
	if err != nil {
		panic(fmt.Sprintf("cli: the grammar is broken: %v", err))
	}
	args := p.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	args = spelled(args)
	parsed, err := parse(parser, args)
	if exited {
		return exitOK
	}
	if err != nil {
		return p.fail(usageError(err, args))
	}
	s := &session{Context: ctx, Process: p, early: early, json: root.JSON, now: time.Now, parser: parser}
	s.out = newPrinter(p.Stdout, p.Getenv)
	if err := s.run(parsed); err != nil {
		return p.fail(s.suggest(err, parsed))
	}
	if err := s.out.lost(); err != nil {
		return p.fail(err)
	}
	return exitOK
}

// run runs the command. A command that talks to a running Bezoar gets a client when it asks for one.
func (s *session) run(parsed *kong.Context) error {
	type client interface {
		client(s *session) (*adminapi.Client, error)
	}
	if c, ok := reflect.TypeAssert[client](parsed.Selected().Target.Addr()); ok {
		var api *adminapi.Client
		err := parsed.BindSingletonProvider(func() (_ *adminapi.Client, err error) {
			api, err = c.client(s)
			return api, err
		})
		if err != nil {
			return err
		}
		defer func() {
			if api != nil {
				api.Close()
			}
		}()
	}
	return parsed.Run(s)
}

const exitHelp = "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 not allowed, 5 the plan or the settings changed first, " +
	"6 partly done, 7 timed out waiting, 8 unhealthy or not reachable."

// fail prints an error and returns the exit code.
func (p Process) fail(err error) int {
	if errors.Is(err, context.Canceled) {
		err = &exitError{code: exitFailure, err: errors.New("interrupted")}
	}
	fmt.Fprintf(p.Stderr, "bezoar: %s\n", spoken(err))
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(p.Stderr, "hint: %s\n", hint)
	}
	return codeOf(err)
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
	var parse *kong.ParseError
	path := "bezoar"
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		path += " " + parse.Context.Selected().Path()
	} else if len(words) > 0 && strings.HasPrefix(err.Error(), "unknown flag") {
		path += " " + strings.Join(words, " ")
	}
	hint := path + " --help"
	if len(words) > 0 && (words[0] == "run" || words[0] == "sift") && strings.HasPrefix(err.Error(), "unknown flag") {
		hint = "flags of the command to run belong behind --: bezoar " + words[0] + " -- CMD ARGS"
	}
	if rest, ok := strings.CutPrefix(err.Error(), "unexpected argument "); ok && parse != nil && parse.Context != nil && ofNoun(parse.Context) {
		err = errors.New("there is no command " + rest)
	}
	if rest, ok := strings.CutPrefix(err.Error(), `expected "<`); ok {
		err = errors.New("missing argument <" + strings.TrimSuffix(rest, `"`))
	}
	if text := err.Error(); strings.Contains(text, noChoice) { // an optional flag
		err = errors.New(strings.Replace(text, noChoice, "must be one of ", 1))
	}
	return &exitError{code: exitUsage, err: err, hint: hint}
}

// ofNoun reports whether a verb is missing.
func ofNoun(c *kong.Context) bool {
	return c.Selected() == nil || len(c.Selected().Children) > 0
}

// noChoice begins kong's message about a wrong value of an optional enum flag.
const noChoice = `must be one of "",`

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
