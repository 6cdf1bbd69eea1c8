package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is shown below the flags.
func (completionCmd) Help() string {
	return "bash: source <(bezoar completion bash). zsh: source <(bezoar completion zsh). fish: bezoar completion fish | source"
}

func (c *completionCmd) Run(s *session) error {
	places := placesOf(s.root, "bezoar", nil)
	switch c.Shell {
	case "fish":
		s.out.printf("%s", fishScript(places))
	case "zsh":
		// zsh runs the bash script through its own emulation.
		s.out.printf("autoload -Uz bashcompinit && bashcompinit\n%s", bashScript(places))
	default:
		s.out.printf("%s", bashScript(places))
	}
	return nil
}

// spot is one command with the words that may follow it.
type spot struct {
	path  string // "bezoar quarantine add"
	words []word // subcommands, then flags
	files bool   // it takes files
	runs  bool   // it takes a command after --
	asks  string // the kind of names (see namesCmd) to ask the running Bezoar for, as an argument
}

type word struct {
	text, help string
	short      string // "-q"; "" for none
	takesValue bool
	values     []string // values of the flag, or allowed arguments
	asks       string   // the kind of names for the flag's value
}

// placesOf walks the visible commands.
func placesOf(n *cmdline.Command, path string, inherited []word) []spot {
	flags := slices.Clone(inherited)
	for _, f := range n.Flags {
		w := wordOf(f)
		w.asks = kindOf(path, w.text)
		flags = append(flags, w)
	}
	here := spot{path: path}
	var below []spot
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		here.words = append(here.words, word{text: child.Name, help: child.Help})
		below = append(below, placesOf(child, path+" "+child.Name, flags)...)
	}
	for _, arg := range n.Arguments {
		here.files = here.files || arg.Name == "file"
		here.runs = here.runs || arg.Name == "cmd"
		if here.asks == "" {
			here.asks = kindOf(path, arg.Name)
		}
		for _, v := range arg.Enum {
			if v != "" {
				here.words = append(here.words, word{text: v, help: arg.Help})
			}
		}
	}
	here.words = append(here.words, flags...)
	if n.Default != nil { // its name may be left out
		for _, f := range n.Default.Flags {
			here.words = append(here.words, wordOf(f))
		}
	}
	return append([]spot{here}, below...)
}

func wordOf(f *cmdline.Value) word {
	w := word{text: "--" + f.Name, help: f.Help, takesValue: !f.IsBool()}
	if f.Short != 0 {
		w.short = "-" + string(f.Short)
	}
	for _, v := range f.Enum {
		if v != "" {
			w.values = append(w.values, v)
		}
	}
	w.values = append(w.values, f.Offer...) // others are allowed
	return w
}

// bashHead follows the words to the command, and keeps the value of --admin. bash splits words at colons, which names may
// contain, so the parts are joined again.
const bashHead = `_bezoar() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=bezoar i words last
  local -a admin
  words=("${COMP_WORDS[@]}") last=$COMP_CWORD
  if [[ $COMP_WORDBREAKS == *:* && -n $COMP_LINE ]]; then
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    last=$((${#words[@]} - 1)) cur=${words[last]} prev=${words[last-1]}
  fi
  COMPREPLY=()
  for ((i = 1; i < last; i++)); do
    [[ ${words[i]} == -- ]] && return
    [[ ${words[i]} == --admin ]] && admin=(--admin "${words[i+1]}")
    case "$path ${words[i]}" in
`

// bashNames completes names from the running Bezoar.
const bashNames = `_bezoar_names() {
  COMPREPLY=($(compgen -W "$("${words[0]}" names "$1" "${admin[@]}" 2>/dev/null)" -- "$cur"))
  [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
}
`

// bashScript completes the words that may follow a command. Where a value is wanted it offers files, or names from the
// running Bezoar. After -- it offers nothing.
func bashScript(places []spot) string {
	var b strings.Builder
	b.WriteString(bashNames)
	b.WriteString(bashHead)
	var paths []string
	for _, p := range places[1:] {
		paths = append(paths, `"`+p.path+`"`)
	}
	fmt.Fprintf(&b, "      %s) path=\"$path ${words[i]}\" ;;\n", strings.Join(paths, " | "))
	b.WriteString("    esac\n  done\n  case \"$path $prev\" in\n")
	for _, p := range places {
		for _, w := range p.words {
			when := fmt.Sprintf("%q", p.path+" "+w.text)
			if w.short != "" {
				when += fmt.Sprintf(" | %q", p.path+" "+w.short)
			}
			switch {
			case len(w.values) > 0:
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", when, strings.Join(w.values, " "))
			case w.asks != "":
				fmt.Fprintf(&b, "    %s) _bezoar_names %s; return ;;\n", when, w.asks)
			case w.takesValue:
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", when)
			}
		}
	}
	b.WriteString("  esac\n  case \"$path\" in\n")
	for _, p := range places {
		words := make([]string, len(p.words))
		for i, w := range p.words {
			words[i] = w.text
		}
		only := ""
		switch {
		case p.files:
			only = "[[ $cur == -* ]] && "
		case p.asks != "":
			only = "if [[ $cur != -* ]]; then _bezoar_names " + p.asks + "; return; fi; "
		}
		fmt.Fprintf(&b, "    %q) %sCOMPREPLY=($(compgen -W %q -- \"$cur\")) ;;\n", p.path, only, strings.Join(words, " "))
	}
	b.WriteString("  esac\n}\ncomplete -o bashdefault -o default -F _bezoar bezoar\n")
	return b.String()
}

// fishScript has one line for each word, with the condition under which the word may come next.
func fishScript(places []spot) string {
	var b strings.Builder
	b.WriteString("complete -c bezoar -f\n")
	for _, p := range places {
		parts := strings.Fields(p.path)[1:]
		condition := "__fish_use_subcommand"
		if len(parts) > 0 {
			condition = "__fish_seen_subcommand_from " + parts[len(parts)-1]
			for _, above := range parts[:len(parts)-1] {
				condition += "; and __fish_seen_subcommand_from " + above
			}
		}
		if p.files || p.runs {
			fmt.Fprintf(&b, "complete -c bezoar -n '%s' -F\n", condition)
		}
		if p.asks != "" {
			fmt.Fprintf(&b, "complete -c bezoar -n '%s' -a '(bezoar names %s 2>/dev/null)'\n", condition, p.asks)
		}
		for _, w := range p.words {
			option := "-a " + w.text
			if name, ok := strings.CutPrefix(w.text, "--"); ok {
				option = "-l " + name
				if w.short != "" {
					option += " -s " + w.short[1:]
				}
				switch {
				case w.asks != "":
					option += " -x -a '(bezoar names " + w.asks + " 2>/dev/null)'"
				case len(w.values) > 0:
					option += " -x -a '" + strings.Join(w.values, " ") + "'"
				case w.takesValue:
					option += " -r -F"
				}
			}
			fmt.Fprintf(&b, "complete -c bezoar -n '%s' %s -d '%s'\n", condition, option, strings.ReplaceAll(w.help, "'", `\'`))
		}
	}
	return b.String()
}
