package cmdline

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const helpFlag = "help"

// Options configures a [Parser].
type Options struct {
	Name   string // of the program
	Help   string // one sentence
	Groups []Group
	// Reader returns how values of a type are read; ok is false for types that it does not know.
	Reader func(t reflect.Type) (r Reader, ok bool)
}

// Group groups commands in the program's help.
type Group struct{ Key, Title string }

// Reader reads one type of values.
type Reader struct {
	Kind string // of the word, for the error if there is none: duration
	Read func(text string, to reflect.Value) error
}

// Parser reads command lines.
type Parser struct {
	Root    *Command
	options Options
	help    bool // the flag --help
}

// New returns a parser that reads into the struct to which root points, and sets the defaults there. A struct may have a
// method Help, which returns the paragraphs below its sentence.
func New(root any, o Options) (*Parser, error) {
	p := &Parser{options: o, Root: &Command{Name: o.Name, Help: o.Help, Target: root}}
	p.Root.Flags = []*Value{{Name: helpFlag, Short: 'h', Help: "Show context-sensitive help.", Target: reflect.ValueOf(&p.help).Elem()}}
	return p, p.build(p.Root, reflect.ValueOf(root).Elem())
}

// build declares the fields of a struct.
func (p *Parser) build(c *Command, v reflect.Value) error {
	if d, ok := c.Target.(interface{ Help() string }); ok {
		c.Detail = d.Help()
	}
	if err := p.fields(c, v); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, f := range c.AllFlags() {
		if names[f.Name] || f.Short != 0 && names[string(f.Short)] {
			return fmt.Errorf("%s has two flags --%s, or two with its letter", c.FullPath(), f.Name)
		}
		names[f.Name], names[string(f.Short)] = true, true
	}
	for i, a := range c.Arguments {
		if i > 0 && (c.Arguments[i-1].list() || a.required && !c.Arguments[i-1].required) {
			return fmt.Errorf("%s: the argument %s cannot follow %s", c.FullPath(), a.Name, c.Arguments[i-1].Name)
		}
	}
	if len(c.Arguments) > 0 && len(c.Children) > 0 {
		return fmt.Errorf("%s has arguments and commands", c.FullPath())
	}
	return nil
}

func (p *Parser) fields(c *Command, v reflect.Value) error {
	for field, value := range v.Fields() {
		t, err := readTags(field.Tag)
		_, command := t["cmd"]
		switch {
		case err != nil:
			return fmt.Errorf("field %s: %w", field.Name, err)
		case field.Anonymous && value.Kind() == reflect.Struct:
			err = p.fields(c, value)
		case !field.IsExported():
		case command:
			err = p.command(c, field, value, t)
		default:
			err = p.value(c, field, value, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) command(c *Command, field reflect.StructField, v reflect.Value, t tags) error {
	_, hidden := t["hidden"]
	child := &Command{Name: t.name(field), Help: t.help(), Hidden: hidden, Parent: c, Target: v.Addr().Interface(), group: t["group"]}
	c.Children = append(c.Children, child)
	if t["default"] == "withargs" {
		c.Default = child
	}
	return p.build(child, v)
}

func (p *Parser) value(c *Command, field reflect.StructField, target reflect.Value, t tags) error {
	has := func(key string) bool { _, ok := t[key]; return ok }
	v := &Value{
		Name: t.name(field), Help: t.help(), Target: target, argument: has("arg"), required: has("required"), negatable: has("negatable"),
		placeholder: t["placeholder"], sep: target.Kind() == reflect.Slice && t["sep"] != "none",
	}
	v.Short, _ = utf8.DecodeRuneInString(t["short"])
	if !has("short") {
		v.Short = 0
	}
	if has("enum") {
		v.Enum = strings.Split(t["enum"], ",")
	}
	if has("offer") {
		v.Offer = strings.Split(t["offer"], ",")
	}
	if v.argument {
		v.required = !has("optional") && !has("default")
		c.Arguments = append(c.Arguments, v)
	} else {
		c.Flags = append(c.Flags, v)
	}
	var err error
	if v.reader, err = p.reader(target.Type()); err != nil {
		return fmt.Errorf("field %s: %w", field.Name, err)
	}
	if has("default") {
		text := t["default"]
		v.standard = &text
		if err := v.read([]token{{text, flagValue}}, nil); err != nil {
			return fmt.Errorf("default of %w", err)
		}
		v.given = false
	}
	return nil
}

// reader returns how a type is read. Bools, lists and maps have none.
func (p *Parser) reader(t reflect.Type) (Reader, error) {
	if p.options.Reader != nil {
		if r, ok := p.options.Reader(t); ok {
			return r, nil
		}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return p.reader(t.Elem())
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return Reader{Kind: "value", Read: func(text string, to reflect.Value) error {
			u, _ := reflect.TypeAssert[encoding.TextUnmarshaler](to.Addr())
			return u.UnmarshalText([]byte(text)) //nolint:wrapcheck // the flag's name is added
		}}, nil
	case t.Kind() == reflect.String:
		return Reader{Kind: "string", Read: func(text string, to reflect.Value) error { to.SetString(text); return nil }}, nil
	case t.Kind() == reflect.Bool, t == reflect.TypeFor[[]string](), t == reflect.TypeFor[map[string]string]():
		return Reader{}, nil
	}
	return Reader{}, fmt.Errorf("a value cannot be of type %s", t)
}

type tags map[string]string

func knownTags() []string {
	return []string{"arg", "cmd", "default", "enum", "group", "help", "hidden", "mapsep", "name", "negatable", "offer", "optional", "placeholder", "required", "sep", "short"}
}

func readTags(tag reflect.StructTag) (tags, error) {
	t, rest := tags{}, strings.TrimSpace(string(tag))
	for rest != "" {
		key, after, _ := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil || !slices.Contains(knownTags(), key) {
			return nil, fmt.Errorf("no tag that is known: %s", rest)
		}
		if t[key], err = strconv.Unquote(quoted); err != nil {
			return nil, errors.New("no quoted tag: " + rest)
		}
		rest = strings.TrimSpace(after[len(quoted):])
	}
	return t, nil
}

func (t tags) name(f reflect.StructField) string {
	if name, ok := t["name"]; ok {
		return name
	}
	return strings.ToLower(dashed(f.Name))
}

func (t tags) help() string {
	return strings.NewReplacer("$$", "$", "${default}", t["default"], "${enum}", t["enum"]).Replace(t["help"])
}

// dashed puts dashes between the words of a name: MaxLetters is Max-Letters, and HTTPPort is HTTP-Port.
func dashed(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		begins := i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('-')
		}
		b.WriteRune(c)
	}
	return b.String()
}
