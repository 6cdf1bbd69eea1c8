package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parsed is a command line that could be read.
type Parsed struct {
	Command *Command // the program, if no command is named
	Given   []*Value // as often as they are given, in that order
}

func (p *Parsed) Has(flag string) bool {
	root := p.Command
	for root.Parent != nil {
		root = root.Parent
	}
	return slices.ContainsFunc(p.Given, func(v *Value) bool { return v.Name == flag && slices.Contains(root.Flags, v) })
}

// Error says why a command line could not be read.
type Error struct {
	Command *Command // as far as it is known
	err     error
}

// Error implements error.
func (e *Error) Error() string { return e.err.Error() }

func (e *Error) Unwrap() error { return e.err }

// Parse reads a command line, without the program's name, once. Errors are of type [*Error]. If --help or --version is given,
// missing and wrong values are not reported.
func (p *Parser) Parse(args []string) (*Parsed, error) {
	r := &reading{Parsed: Parsed{Command: p.Root}}
	for _, a := range args {
		r.words = append(r.words, token{a, word})
	}
	err := r.follow(p.Root)
	if err == nil && !r.Has(helpFlag) && !r.Has("version") {
		err = r.check()
	}
	if err != nil {
		return nil, &Error{r.Command, err}
	}
	return &r.Parsed, nil
}

// kind says what a word of the command line is.
type kind int

const (
	word      kind = iota // not known yet
	longFlag              // --flag
	flagValue             // =value
	letter                // -f
	letters               // what follows a letter in the same word
	argument
)

type token struct {
	text string
	kind kind
}

// reading is a command line that is read. words are those to come.
type reading struct {
	Parsed

	words []token
}

func (r *reading) push(tokens ...token) { r.words = append(tokens, r.words...) }

// follow reads the words that follow the name of a command.
func (r *reading) follow(c *Command) error {
	r.Command = c
	arguments, flags := c.Arguments, c.AllFlags()
	if c.Default != nil {
		flags = c.Default.AllFlags()
	}
	for len(r.words) > 0 {
		t := r.words[0]
		switch t.kind {
		case word:
			r.words = r.words[1:]
			r.classify(t.text)
		case letters:
			r.words = r.words[1:]
			r.letters(t.text)
		case longFlag, letter:
			if err := r.flag(flags, t.text); err != nil {
				return err
			}
		case argument:
			if len(arguments) == 0 {
				return r.child(c, t.text)
			}
			a := arguments[0]
			if err := r.take(a); err != nil {
				return err
			}
			if !a.list() {
				arguments = arguments[1:]
			}
		case flagValue:
			return fmt.Errorf("unexpected flag argument %q", t.text)
		}
	}
	if c.Default != nil && !r.Has(helpFlag) {
		r.Command = c.Default
	}
	return nil
}

// classify puts a word back as what it is.
func (r *reading) classify(text string) {
	switch name, value, has := strings.Cut(text, "="); {
	case text == "--":
		for i := range r.words {
			r.words[i].kind = argument
		}
	case strings.HasPrefix(text, "--"):
		if has {
			r.push(token{value, flagValue})
		}
		r.push(token{name, longFlag})
	case strings.HasPrefix(text, "-") && text != "-":
		r.letters(text[1:])
	default:
		r.push(token{text, argument})
	}
}

// letters puts back the first letter of a group, and the others.
func (r *reading) letters(text string) {
	if text[1:] != "" {
		r.push(token{text[1:], letters})
	}
	r.push(token{"-" + text[:1], letter})
}

// flag reads the flag that comes next.
func (r *reading) flag(flags []*Value, name string) error {
	var known []string
	for _, f := range flags {
		known = append(known, "--"+f.Name)
		if f.Short != 0 {
			known = append(known, "-"+string(f.Short))
		}
		off := f.negatable && name == "--no-"+f.Name
		if name != "--"+f.Name && (f.Short == 0 || name != "-"+string(f.Short)) && !off {
			continue
		}
		r.words = r.words[1:]
		if off {
			is := true
			if len(r.words) > 0 && r.words[0].kind == flagValue {
				var err error
				if is, err = readBool(r.words[0].text); err != nil {
					return err
				}
				r.words = r.words[1:]
			}
			r.push(token{strconv.FormatBool(!is), flagValue})
		}
		return r.take(f)
	}
	return near(name, known, "unknown flag "+name)
}

// take reads a value of a flag or an argument.
func (r *reading) take(v *Value) error {
	r.Given = append(r.Given, v)
	return v.read(r.words, func(n int) { r.words = r.words[n:] })
}

func (r *reading) child(c *Command, name string) error {
	var known []string
	for _, child := range c.Children {
		if !child.Hidden {
			known = append(known, child.Name)
		}
		if child.Name != name {
			continue
		}
		if d := c.Default; d != nil && d != child {
			for _, v := range r.Given {
				if slices.Contains(d.Flags, v) {
					return fmt.Errorf("flag --%s applies to the default command %q, not %q", v.Name, d.Name, name)
				}
			}
		}
		r.words = r.words[1:]
		return r.follow(child)
	}
	if c.Default != nil {
		return r.follow(c.Default)
	}
	return near(name, known, "unexpected argument "+name)
}

// check reports values that are missing or not allowed.
func (r *reading) check() error {
	var above []*Command
	for c := r.Command; c != nil; c = c.Parent {
		above = append([]*Command{c}, above...)
	}
	for _, c := range above {
		for _, v := range slices.Concat(c.Flags, c.Arguments) {
			if v.given || v.standard != nil || !v.required {
				if err := v.allowed(); err != nil {
					return err
				}
			}
		}
	}
	for _, c := range above {
		if missing := summaries(c.Flags); len(missing) > 0 {
			slices.Sort(missing)
			return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
		}
	}
	if missing := summaries(r.Command.Arguments); len(missing) > 0 {
		return errors.New("missing argument " + strings.Join(missing, " "))
	}
	var names []string
	for _, child := range r.Command.Children {
		if !child.Hidden {
			names = append(names, strconv.Quote(child.Name))
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) == 1:
		return errors.New("expected " + names[0])
	case len(names) > 5:
		names = append(names[:5], "...")
	}
	return errors.New("expected one of " + strings.Join(names, ", "))
}

func summaries(of []*Value) (missing []string) {
	for _, v := range of {
		if v.required && !v.given {
			missing = append(missing, v.Summary())
		}
	}
	return missing
}

// near adds the names that are like the one that is given.
func near(given string, known []string, text string) error {
	var like []string
	for _, k := range known {
		if strings.HasPrefix(k, given) || distance(k, given) <= 2 {
			like = append(like, strconv.Quote(k))
		}
	}
	switch len(like) {
	case 0:
		return errors.New(text)
	case 1:
		return fmt.Errorf("%s, did you mean %s?", text, like[0])
	}
	return fmt.Errorf("%s, did you mean one of %s?", text, strings.Join(like, ", "))
}

// distance returns how many letters have to be added, removed or replaced to make b of a.
func distance(a, b string) int {
	to := []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range []rune(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range to {
			cost := diagonal
			if c != d {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(to)]
}
