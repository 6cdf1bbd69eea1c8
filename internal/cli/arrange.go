package cli

import (
	"errors"
	"strings"

	"github.com/alecthomas/kong"
)

// parse reads the arguments. kong ends a list of arguments, such as files, at the first flag after it; here flags may also
// stand between list items.
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	parsed, err := parser.Parse(args)
	bad, ok := errors.AsType[*kong.ParseError](err)
	if !ok || bad.Context == nil || !strings.HasPrefix(bad.Error(), "unexpected argument") {
		return parsed, err
	}
	if other, ok := arranged(args, bad.Context.Selected()); ok {
		return parser.Parse(other)
	}
	return parsed, err
}

// arranged puts the flags of a command before its arguments. ok is false if the command takes no list of arguments, or if
// the arguments are for another program.
func arranged(args []string, command *kong.Node) (out []string, ok bool) {
	if command == nil || len(command.Positional) == 0 {
		return nil, false
	}
	if last := command.Positional[len(command.Positional)-1]; !last.IsCumulative() || last.Passthrough {
		return nil, false
	}
	words := command.Depth() + 1 // of the command's name
	var rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case words == 0 && a == "--":
			return append(append(append(out, a), rest...), args[i+1:]...), true
		case strings.HasPrefix(a, "-") && a != "-":
			if out = append(out, a); !wantsValue(a, command) {
				continue
			}
			if i++; i == len(args) {
				return out, true // the missing value is reported later
			}
			out = append(out, args[i])
		case words > 0:
			words--
			out = append(out, a)
		default:
			rest = append(rest, a)
		}
	}
	return append(out, rest...), true
}

// wantsValue reports whether the flag arg takes the next argument as its value.
func wantsValue(arg string, command *kong.Node) bool {
	takes := func(is func(*kong.Flag) bool) bool {
		for _, group := range command.AllFlags(false) {
			for _, f := range group {
				if is(f) {
					return !f.IsBool() && !f.IsCounter()
				}
			}
		}
		return false
	}
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		return takes(func(f *kong.Flag) bool { return f.Name == name }) // with = and a value, the name matches no flag
	}
	letters := []rune(arg[1:])
	for i, c := range letters {
		if takes(func(f *kong.Flag) bool { return f.Short == c }) {
			return i == len(letters)-1 // otherwise the other letters are its value
		}
	}
	return false
}
