// Package cmdline reads command lines into structs, whose tags declare the commands, flags and arguments, and prints help.
//
// A field with cmd is a command, a struct of its own; a field with arg is an argument; any other field is a flag. Embedded
// structs are part of the struct around them. A field's name, in lower case with dashes, is the name on the command line.
//
//	tag            on            meaning
//	cmd            struct        a command
//	arg            field         an argument: required, unless it is optional or has a default
//	name, short    any           another name; one letter for a flag
//	help           any           one sentence; ${default} and ${enum} stand for these tags, and $$ for $
//	group          command       the key of a [Group] in the help of the program
//	hidden         command       neither help nor completion show it
//	default        value         the value if none is given; withargs on a command: it is meant if none is named
//	enum           value         allowed values, with commas between them
//	offer          flag          values that completion offers; others are allowed
//	required       flag          it must be given
//	optional       argument      it may be left out
//	negatable      flag          a bool that --no-NAME turns off
//	placeholder    flag          what help shows as its value
//	sep            []string      none: a value is one item, whatever it contains; otherwise commas separate items
//	mapsep         map           always none: a value is one NAME=VALUE
//
// Flags may stand before, between and behind arguments; -- ends them. --name=value, --name value, -n value and -nvalue
// mean the same, and letters of flags without values may be written together.
//
// # Guarantees
//
//   - No command line makes [Parser.Parse] panic.
//   - Nothing is looked up by the name of a method, so that Go's linker can leave out methods that nobody calls.
//
// # Not guaranteed
//
// Fields may be strings, bools, []string, map[string]string, types with UnmarshalText, types that [Options] reads, and
// pointers to these; a pointer is nil if the flag is not given. [New] reports others, and unknown tags.
package cmdline
