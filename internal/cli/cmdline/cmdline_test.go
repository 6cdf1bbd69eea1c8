package cmdline_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
)

type shared struct {
	Admin string `placeholder:"ADDR" help:"Where it is (default $$ADMIN)."`
}

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return errors.New("bad is bad")
	}
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

type lsCmd struct {
	shared

	Limit int      `short:"n" default:"50" help:"At most (default ${default})."`
	In    string   `enum:",on,off" default:"" help:"One of ${enum}."`
	Group []string `short:"g" sep:"none" placeholder:"GROUP"`
	Tags  []string
	Dry   bool `short:"d"`
	Quiet bool `short:"q"`
	Last  bool `negatable:"" default:"true" help:"On by default."`
}

type setCmd struct {
	For   upper             `required:"" placeholder:"TIME"`
	Share *int              `help:"A share."`
	Label map[string]string `mapsep:"none"`
	Name  string            `arg:""`
	Mode  string            `arg:"" optional:"" enum:"fast,slow" default:"fast"`
	Files []string          `arg:"" optional:"" name:"file" help:"Files."`
}

func (*setCmd) Help() string { return "First paragraph.\n\nSecond paragraph." }

type oneCmd struct {
	Size int    `short:"s"`
	Word string `arg:"" optional:""`
}

type twoCmd struct{ Size int }

type program struct {
	JSON    bool `name:"json" help:"As JSON."`
	Version bool `help:"Print the version."`

	Queue struct {
		Ls  lsCmd  `cmd:"" help:"List."`
		Set setCmd `cmd:"" help:"Change."`
	} `cmd:"" group:"look" help:"Queues."`
	Demo struct {
		One oneCmd `cmd:"" default:"withargs" help:"First."`
		Two twoCmd `cmd:"" help:"Second."`
	} `cmd:"" group:"act" help:"Show it."`
	Secret struct{} `cmd:"" hidden:"" group:"act" help:"Not shown."`
}

func reader(t reflect.Type) (cmdline.Reader, bool) {
	if t.Kind() != reflect.Int {
		return cmdline.Reader{}, false
	}
	return cmdline.Reader{Kind: "number", Read: func(text string, to reflect.Value) error {
		i, err := strconv.Atoi(text)
		to.SetInt(int64(i))
		return err
	}}, true
}

func parser(t testing.TB) (*cmdline.Parser, *program) {
	t.Helper()
	root := new(program)
	p, err := cmdline.New(root, cmdline.Options{
		Name: "tool", Help: "A tool.", Groups: []cmdline.Group{{Key: "look", Title: "Look:"}, {Key: "act", Title: "Act:"}}, Reader: reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, root
}

func TestCommandLines(t *testing.T) {
	ls := func(change func(*lsCmd)) func(*program) {
		return func(p *program) { change(&p.Queue.Ls) }
	}
	set := func(change func(*setCmd)) func(*program) {
		return func(p *program) { p.Queue.Set.For, p.Queue.Set.Name = "1H", "a"; change(&p.Queue.Set) }
	}
	three := 3
	for line, want := range map[string]func(*program){
		"queue ls":                                    ls(func(*lsCmd) {}),
		"queue --json ls":                             func(p *program) { p.JSON = true },
		"queue ls --json=no":                          func(*program) {},
		"queue ls --limit 3 --admin=x=y":              ls(func(c *lsCmd) { c.Limit, c.Admin = 3, "x=y" }),
		"queue ls -n3":                                ls(func(c *lsCmd) { c.Limit = 3 }),
		"queue ls -n 3 -n 4":                          ls(func(c *lsCmd) { c.Limit = 4 }),
		"queue ls -dqn3":                              ls(func(c *lsCmd) { c.Dry, c.Quiet, c.Limit = true, true, 3 }),
		"queue ls --in on --in off":                   ls(func(c *lsCmd) { c.In = "off" }),
		"queue ls -g a,b --group=c":                   ls(func(c *lsCmd) { c.Group = []string{"a,b", "c"} }),
		`queue ls --tags=a,b\,c --tags d,`:            ls(func(c *lsCmd) { c.Tags = []string{"a", "b,c", "d"} }),
		"queue ls --tags=":                            ls(func(c *lsCmd) { c.Tags = []string{} }),
		"queue ls --no-last":                          ls(func(c *lsCmd) { c.Last = false }),
		"queue ls --no-last=false":                    ls(func(*lsCmd) {}),
		"queue ls --last=0 --limit=-1":                ls(func(c *lsCmd) { c.Last, c.Limit = false, -1 }),
		"queue ls --admin -":                          ls(func(c *lsCmd) { c.Admin = "-" }),
		"queue set --for=1h a":                        set(func(*setCmd) {}),
		"queue set a --for 1h slow":                   set(func(c *setCmd) { c.Mode = "slow" }),
		"queue set a --for 1h fast x y":               set(func(c *setCmd) { c.Files = []string{"x", "y"} }),
		"queue set a fast x --for 1h y":               set(func(c *setCmd) { c.Files = []string{"x", "y"} }),
		"queue set --for=1h a fast -- -x --y":         set(func(c *setCmd) { c.Files = []string{"-x", "--y"} }),
		"queue set --for 1h --share 3 a":              set(func(c *setCmd) { c.Share = &three }),
		"queue set --for 1h a --label x=1 --label=y=": set(func(c *setCmd) { c.Label = map[string]string{"x": "1", "y": ""} }),
		"demo":                func(*program) {},
		"demo --size 3":       func(p *program) { p.Demo.One.Size = 3 },
		"demo -s3 word":       func(p *program) { p.Demo.One.Size, p.Demo.One.Word = 3, "word" },
		"demo one --size=3":   func(p *program) { p.Demo.One.Size = 3 },
		"demo two --size 3":   func(p *program) { p.Demo.Two.Size = 3 },
		"secret":              func(*program) {},
		"--version":           func(p *program) { p.Version = true },
		"queue set --version": func(p *program) { p.Version = true },
	} {
		p, got := parser(t)
		_, wanted := parser(t)
		want(wanted)
		if parsed, err := p.Parse(strings.Split(line, " ")); err != nil || !reflect.DeepEqual(got, wanted) || parsed.Command == nil {
			t.Errorf("%s: %v\n got %+v\nwant %+v", line, err, got, wanted)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"":                        `tool: unexpected argument , did you mean one of "queue", "demo"?`,
		"queu":                    `tool: unexpected argument queu, did you mean "queue"?`,
		"secre":                   `tool: unexpected argument secre`,
		"queue":                   `tool queue: expected one of "ls", "set"`,
		"--json":                  `tool: expected one of "queue", "demo"`,
		"queue l":                 `tool queue: unexpected argument l, did you mean "ls"?`,
		"queue ls x":              `tool queue ls: unexpected argument x`,
		"queue ls --limt 3":       `tool queue ls: unknown flag --limt, did you mean one of "--limit", "--last"?`,
		"queue ls -x":             `tool queue ls: unknown flag -x, did you mean one of "-h", "-n", "-g", "-d", "-q"?`,
		"queue ls --":             ``,
		"queue ls --limit":        `tool queue ls: --limit: expected number value but got "EOL" (<EOL>)`,
		"queue ls --limit --json": `tool queue ls: --limit: expected number value but got "--json" (long flag); perhaps try --limit="--json"?`,
		"queue ls --admin -n":     `tool queue ls: --admin: expected string value but got "-n" (short flag); perhaps try --admin="-n"?`,
		"queue ls --limit=x":      `tool queue ls: --limit: strconv.Atoi: parsing "x": invalid syntax`,
		"queue ls --json=maybe":   `tool queue ls: --json: bool value must be true, 1, yes, false, 0 or no but got "maybe"`,
		"queue ls --no-last=x":    `tool queue ls: bool value must be true, 1, yes, false, 0 or no but got "x"`,
		"queue ls --no-dry":       `tool queue ls: unknown flag --no-dry`,
		"queue ls --in maybe":     `tool queue ls: --in must be one of "on","off" but got "maybe"`,
		"queue ls --group":        `tool queue ls: --group: missing value, expecting "<arg>"`,
		"queue ls --tags":         `tool queue ls: --tags: missing value, expecting "<arg>,..."`,
		"queue ls -d=x":           `tool queue ls: unknown flag -=, did you mean one of "-h", "-n", "-g", "-d", "-q"?`,
		"queue set a":             `tool queue set: missing flags: --for=TIME`,
		"queue set --for 1h":      `tool queue set: missing argument <name>`,
		"queue set --for bad a":   `tool queue set: --for: bad is bad`,
		"queue set --for 1h a no": `tool queue set: [<mode>] must be one of "fast","slow" but got "no"`,
		"queue set --label":       `tool queue set: --label: missing value, expecting "<key>=<value>"`,
		"queue set --label x":     `tool queue set: --label: expected "<key>=<value>" but got "x"`,
		"demo --size 3 two":       `tool demo: flag --size applies to the default command "one", not "two"`,
		"demo a b":                `tool demo one: unexpected argument b`,
		"queue --help --nosuch":   `tool queue: unknown flag --nosuch`,
	} {
		p, _ := parser(t)
		_, err := p.Parse(strings.Split(line, " "))
		got := ""
		if bad, ok := errors.AsType[*cmdline.Error](err); ok {
			got = bad.Command.FullPath() + ": " + err.Error()
		} else if err != nil {
			t.Errorf("%s: the error is a %T", line, err)
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestHelpOfCommands(t *testing.T) {
	p, _ := parser(t)
	for line, want := range map[string]string{
		"--help": `Usage: tool <command> [flags]

A tool.

Flags:
  -h, --help       Show context-sensitive help.
      --json       As JSON.
      --version    Print the version.

Look:
  queue    Queues.

Act:
  demo    Show it.

Run "tool <command> --help" for more information on a command.
`,
		"queue -h": `Usage: tool queue <command> [flags]

Queues.

Flags:
  -h, --help       Show context-sensitive help.
      --json       As JSON.
      --version    Print the version.

Commands:
  queue ls     List.
  queue set    Change.
`,
		"demo --help": `Usage: tool demo <command> [flags]

Show it.

Flags:
  -h, --help       Show context-sensitive help.
      --json       As JSON.
      --version    Print the version.

Commands:
  demo one    First.
  demo two    Second.
`,
		"queue ls --help": `Usage: tool queue ls [flags]

List.

Flags:
  -h, --help             Show context-sensitive help.
      --json             As JSON.
      --version          Print the version.

      --admin=ADDR       Where it is (default $ADMIN).
  -n, --limit=50         At most (default 50).
      --in=""            One of ,on,off.
  -g, --group=GROUP
      --tags=TAGS,...
  -d, --dry
  -q, --quiet
      --[no-]last        On by default.
`,
		"queue set x --help": `Usage: tool queue set --for=TIME <name> [<mode> [<file> ...]] [flags]

Change.

First paragraph.

Second paragraph.

Arguments:
  <name>
  [<mode>]
  [<file> ...]    Files.

Flags:
  -h, --help               Show context-sensitive help.
      --json               As JSON.
      --version            Print the version.

      --for=TIME
      --share=SHARE        A share.
      --label=KEY=VALUE
`,
	} {
		fresh, _ := parser(t)
		parsed, err := fresh.Parse(strings.Split(line, " "))
		if err != nil || !parsed.Has("help") {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := p.HelpFor(parsed.Command, 60); got != want {
			t.Errorf("%s\n%s\nwant\n%s", line, got, want)
		}
	}
}

// Declarations that cannot work are refused at the start.
func TestWrongDeclarations(t *testing.T) {
	for i, root := range []any{
		&struct {
			A int `short:"x"`
			B int `short:"x"`
		}{},
		&struct{ Help bool }{},
		&struct {
			A chan int
		}{},
		&struct {
			A string `nosuch:"tag"`
		}{},
		&struct {
			A int `default:"x"`
		}{},
		&struct {
			A []string `arg:""`
			B string   `arg:""`
		}{},
		&struct {
			A string `arg:"" optional:""`
			B string `arg:""`
		}{},
		&struct {
			A string   `arg:""`
			B struct{} `cmd:""`
		}{},
	} {
		if _, err := cmdline.New(root, cmdline.Options{Name: "tool", Reader: reader}); err == nil {
			t.Errorf("declaration %d is accepted", i)
		}
	}
}

// No command line makes the parser panic, and each is read or refused.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"queue ls -n3", "queue set --for=1h a -- --b", "demo -s 3 word", "-", "--=x", "queue ls -é", "queue ls --no-last=x", "\x00", "queue set --label"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		p, _ := parser(t)
		parsed, err := p.Parse(strings.Split(line, " "))
		if (err == nil) == (parsed == nil) {
			t.Errorf("%q: %v and %v", line, parsed, err)
		}
		if err == nil {
			_ = p.HelpFor(parsed.Command, 40)
		}
	})
}

func Example() {
	var root struct {
		Greet struct {
			Loud bool   `help:"In capitals."`
			Name string `arg:"" help:"Whom."`
		} `cmd:"" help:"Greet somebody."`
	}
	p, err := cmdline.New(&root, cmdline.Options{Name: "hello", Help: "Says hello."})
	if err != nil {
		panic(err)
	}
	parsed, err := p.Parse([]string{"greet", "Ann", "--loud"})
	fmt.Println(parsed.Command.FullPath(), root.Greet.Name, root.Greet.Loud, err)
	// Output: hello greet Ann true <nil>
}
