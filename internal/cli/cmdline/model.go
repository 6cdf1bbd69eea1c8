package cmdline

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Command is a program, or a command of it.
type Command struct {
	Name      string
	Help      string // one sentence
	Detail    string // paragraphs that follow it in the command's own help
	Hidden    bool
	Parent    *Command // nil for the program
	Children  []*Command
	Flags     []*Value
	Arguments []*Value
	Default   *Command // the child that is meant if none is named; nil: one must be named
	Target    any      // a pointer to the struct

	group string
}

// Value is a flag or an argument.
type Value struct {
	Name   string
	Help   string
	Short  rune     // 0: none
	Enum   []string // allowed values; "" among them allows that nothing is given
	Offer  []string // values that completion offers in addition
	Target reflect.Value

	argument, required, negatable bool
	standard                      *string // the default; nil: none
	placeholder                   string
	sep                           bool // commas separate items
	reader                        Reader
	given                         bool
}

// AllFlags returns the flags of a command and of those above it: the program's first.
func (c *Command) AllFlags() (all []*Value) {
	if c.Parent != nil {
		all = c.Parent.AllFlags()
	}
	return append(all, c.Flags...)
}

// Leaves returns the commands below c that have no commands.
func (c *Command) Leaves(hidden bool) (all []*Command) {
	for _, child := range c.Children {
		switch {
		case child.Hidden && !hidden:
		case len(child.Children) == 0:
			all = append(all, child)
		default:
			all = append(all, child.Leaves(hidden)...)
		}
	}
	return all
}

// Path returns the words of a command without the program's name.
func (c *Command) Path() string {
	if c.Parent == nil {
		return ""
	}
	return strings.TrimSpace(c.Parent.Path() + " " + c.Name)
}

func (c *Command) FullPath() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.FullPath() + " " + c.Name
}

// usage returns what the first line of the help says.
func (c *Command) usage() string {
	words := []string{c.FullPath()}
	for _, f := range c.AllFlags() {
		if f.required {
			words = append(words, f.Summary())
		}
	}
	open := 0
	for _, a := range c.Arguments {
		text := a.Summary()
		if !a.required { // the brackets are closed at the end
			text = strings.TrimSuffix(text, "]")
			open++
		}
		words = append(words, text)
	}
	if len(c.Arguments) == 0 && len(c.Children) > 0 {
		words = append(words, "<command>")
	}
	line := strings.Join(words, " ") + strings.Repeat("]", open)
	flags := c.Flags
	if c.Parent != nil {
		flags = append(slices.Clip(flags), c.Parent.Flags...)
	}
	for _, f := range flags {
		if !f.required && f.Name != helpFlag {
			return line + " [flags]"
		}
	}
	return line
}

// IsBool reports whether a flag takes no value.
func (v *Value) IsBool() bool { return v.Target.Kind() == reflect.Bool }

func (v *Value) IsRequired() bool { return v.required }

// list reports whether a value may be given several times.
func (v *Value) list() bool {
	return v.Target.Kind() == reflect.Slice || v.Target.Kind() == reflect.Map
}

// label returns the name that errors say.
func (v *Value) label() string {
	if v.argument {
		return v.Summary()
	}
	return "--" + v.Name
}

// Summary returns a value as it is written: --name=VALUE, <name>, [<name> ...].
func (v *Value) Summary() string {
	text := "<" + v.Name + ">"
	switch {
	case !v.argument && v.IsBool():
		return "--" + v.Name
	case !v.argument:
		return "--" + v.Name + "=" + v.Placeholder()
	case v.list():
		text += " ..."
	}
	if !v.required {
		text = "[" + text + "]"
	}
	return text
}

// Placeholder returns what help shows as the value of a flag.
func (v *Value) Placeholder() string {
	tail := ""
	if v.sep {
		tail = ",..."
	}
	switch typ := v.Target.Type(); {
	case v.placeholder != "":
		return v.placeholder + tail
	case v.standard != nil && typ.Kind() == reflect.String:
		return strconv.Quote(*v.standard)
	case v.standard != nil:
		return *v.standard + tail
	case typ.Kind() == reflect.Map:
		return "KEY=VALUE"
	case typ.Name() != "":
		return strings.ToUpper(dashed(typ.Name()))
	}
	return strings.ToUpper(v.Name) + tail
}
