package crash

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// shell reads what bash, dash, ksh, zsh and busybox say of a script: its name,
// the line, the command, the fault. One fault makes others follow (a variable
// stays empty, a command is missing), so the first of a run counts. A command
// that a signal killed ends its own run: nothing that came before it killed it.
func shell() language {
	return language{
		name:      "shell",
		begins:    shellBegins,
		read:      shellRead,
		library:   func(Frame) bool { return false },
		canonical: shellCanonical,
		vague:     func(string) bool { return true },
	}
}

// The ranks of what stands behind a trace, in the order of what says more.
const (
	rankSQL   = -1
	rankShell = -2
)

// shellGap is how many other lines may stand between faults of one run.
const shellGap = 12

// fault is one line of a shell's.
type fault struct {
	script, command, words string
	line                   int
	signal                 bool
}

func shellBegins(l string) bool {
	if l == "" || l[0] == ' ' || l[0] == '\t' || l[0] == '{' {
		return false
	}
	if l == "Killed" || strings.Contains(l, ": bad interpreter: ") {
		return true
	}
	i := strings.Index(l, ": ")
	return i > 0 && i < 200 && (strings.HasPrefix(l[i:], ": line ") || strings.HasPrefix(l[i:], ": Line ") || strings.HasSuffix(l[:i], ".sh") || i+2 < len(l) && l[i+2] >= '0' && l[i+2] <= '9' || isShellName(l[:i]))
}

// isShellName reports the shell's own name, which stands for a script that
// came from nowhere: -c, standard input, a prompt.
func isShellName(s string) bool {
	s = strings.TrimPrefix(s[strings.LastIndexByte(s, '/')+1:], "-")
	if i := strings.IndexByte(s, ':'); i > 0 && countDigits(s[i+1:]) == len(s)-i-1 { // zsh:1
		s = s[:i]
	}
	switch s {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "bash.exe", "sh.exe":
		return true
	}
	return false
}

func shellRead(lines []string, i int) (trace, int, bool) {
	if lines[i] == "Killed" {
		return shellKilled(lines, i)
	}
	first, ok := parseFault(lines[i])
	if !ok {
		return trace{}, i, false
	}
	next := i + 1
	if first.signal && first.command == "" && next < len(lines) { // wrapped before the command
		if rest, ok := strings.CutPrefix(lines[next], "(core dumped)"); ok {
			first.command, next = commandOf(rest), next+1
		}
	}
	for j, gap := next, 0; !first.signal && j < len(lines) && gap < shellGap; j++ {
		f, ok := parseFault(lines[j])
		switch {
		case ok && f.signal:
			gap = shellGap
		case ok && f.script == first.script:
			next, gap = j+1, 0
		default:
			gap++
		}
	}
	e := exception{typ: first.words, code: first.command, message: first.message()}
	frame := Frame{File: first.script, Line: first.line}
	if !isShellName(first.script) {
		e.frames = []Frame{frame}
	}
	t := trace{chain: []exception{e}, fatal: first.signal, rank: rankShell}
	if first.signal {
		t.class = "crash"
	}
	return t, next, true
}

func (f fault) message() string {
	if f.command == "" {
		return f.words
	}
	return f.command + ": " + f.words
}

// parseFault reads one line of a shell's.
func parseFault(l string) (fault, bool) {
	if !shellBegins(l) {
		return fault{}, false
	}
	before, after, _ := strings.Cut(l, ": ")
	f := fault{script: before}
	rest := after
	if strings.ContainsAny(f.script, "\"'(<=") || strings.Contains(f.script, " ") && !strings.HasSuffix(f.script, ".sh") {
		return fault{}, false
	}
	if isShellName(f.script) { // an interactive shell names itself before a file that it reads
		if file, after, ok := strings.Cut(rest, ": line "); ok && !strings.Contains(file, ": ") && isFaultText(after) {
			f.script, rest = file, "line "+after
		}
	}
	word, numbered, bash := strings.Cut(rest, " ") // line in any language, behind a script's name
	bash = bash && (word == "line" || word == "Line" || strings.HasSuffix(f.script, ".sh") && word != "" && !strings.ContainsAny(word, ":[(0123456789"))
	if !bash {
		numbered = rest
	}
	n := countDigits(numbered)
	switch {
	case bash && n > 0 && strings.HasPrefix(numbered[n:], ":"):
		f.line = atoi(numbered[:n])
		rest = numbered[n+1:]
		if f.killed(rest) {
			return f, true
		}
	case !bash && n > 0 && strings.HasPrefix(rest[n:], ":"):
		f.line = atoi(rest[:n])
		rest = rest[n+1:]
		if !isFaultText(rest) {
			return fault{}, false
		}
	case !isFaultText(rest):
		return fault{}, false
	}
	f.split(strings.TrimSpace(rest))
	return f, f.words != ""
}

func atoi(s string) int {
	n := 0
	for _, c := range s[:min(countDigits(s), 9)] {
		n = n*10 + int(c-'0')
	}
	return n
}

// killed reads "   51 Killed                  bundle install".
func (f *fault) killed(rest string) bool {
	s := strings.TrimLeft(rest, " ")
	n := countDigits(s)
	if n == 0 || n == len(s) || s[n] != ' ' {
		return false
	}
	s = strings.TrimLeft(s[n:], " ")
	for _, sig := range [...]string{"Killed", "Segmentation fault", "Aborted", "Bus error", "Illegal instruction", "Floating point exception", "Terminated", "Trace/breakpoint trap", "Hangup", "Broken pipe", "File size limit exceeded", "CPU time limit exceeded", "Alarm clock", "Quit"} {
		after, ok := strings.CutPrefix(s, sig)
		if !ok {
			continue
		}
		after = strings.TrimPrefix(strings.TrimLeft(after, ": 0123456789"), "(core dumped)")
		f.words, f.command, f.signal = sig, commandOf(after), true
		return true
	}
	return false
}

// commandOf is the base name of the program that a command line begins with.
func commandOf(line string) string {
	command, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return base(command)
}

// split takes what is left apart: commands before, the fault last. The shells
// say the same in different words.
func (f *fault) split(rest string) {
	parts := strings.Split(strings.TrimSuffix(rest, "."), ": ")
	if len(parts) > 1 && (parts[0] == f.script || base(parts[0]) == base(f.script)) { // dash repeats the script
		parts = parts[1:]
	}
	if len(parts) > 1 && isPath(parts[0]) && ofSourced(parts[1:]) { // dash names the script and the file that it reads
		f.script, parts = parts[0], parts[1:]
	}
	low := strings.ToLower(parts[0])
	switch {
	case strings.HasPrefix(low, "syntax error") && len(parts) == 1:
		f.words, f.command = "syntax error", syntaxToken(parts[0])
	case strings.HasPrefix(low, "syntax error"):
		f.words, f.command = "syntax error", syntaxToken(strings.Join(parts[1:], ": "))
	case strings.HasPrefix(low, "unexpected eof"), strings.HasPrefix(low, "warning"):
		f.words = strings.TrimSuffix(fold(strings.Join(parts, ": ")), "'")
	case low == "bad interpreter":
		f.words, f.command = low, commandName(parts[min(1, len(parts)-1)])
	case low == "command not found", low == "no such file or directory", low == "permission denied":
		f.words = low // zsh puts the command last
		if len(parts) > 1 {
			f.command = commandName(parts[1])
		}
	default:
		f.words = fold(strings.ToLower(parts[len(parts)-1]))
		f.command = strings.Join(each.Of(parts[:min(len(parts)-1, 3)], commandName), " ")
	}
	if f.words == "not found" {
		f.words = "command not found"
	}
	if f.words == "parameter not set" {
		f.words = "unbound variable"
	}
}

// ofSourced reports faults of a file's text, not of a command in it.
func ofSourced(parts []string) bool {
	last := parts[len(parts)-1]
	return len(parts) <= 2 && (last == "Bad substitution" || last == "parameter not set") || strings.HasPrefix(parts[0], "Syntax error")
}

// shellAhead is how far behind Killed its command may be named.
const shellAhead = 12

// shellKilled reads the bare word that a shell without job control leaves, and
// what docker or npm say of the command below.
func shellKilled(lines []string, i int) (trace, int, bool) {
	e := exception{typ: "Killed", message: "Killed"}
	next := i + 1
	for k := i + 1; k < len(lines) && k <= i+shellAhead; k++ {
		if command, ok := between(lines[k], "The command '", "' returned a non-zero code: "); ok {
			e.code, next = fold(command), k+1
			break
		}
		script, ok := strings.CutPrefix(lines[k], "npm ERR! ")
		if ok {
			next = k + 1
		}
		if name, rest, ok := strings.Cut(script, "@"); ok && e.code == "" && !strings.Contains(name, " ") {
			if command, ok := between(rest, ": `", "`"); ok {
				e.code = name + " " + fold(command)
			}
		}
	}
	if e.code != "" {
		e.message = e.code + ": Killed"
	}
	return trace{chain: []exception{e}, fatal: true, rank: rankShell, class: "crash"}, next, true
}

// syntaxToken is the token that a parser stumbled over, without its quotes.
func syntaxToken(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(s, "syntax error"), "Syntax error"))
	s = strings.TrimPrefix(strings.TrimSpace(s), "near unexpected token ")
	s, _, _ = strings.Cut(s, " (expecting")
	s = strings.TrimSuffix(strings.TrimSpace(s), " unexpected")
	return fold(strings.Trim(s, "\"'`"))
}

// commandName is a command without the folders that differ between machines.
func commandName(p string) string {
	p = strings.Trim(strings.TrimSpace(p), "\"'`")
	if isPath(p) {
		return base(p)
	}
	return fold(p)
}

// isFaultText reports words that shells end with; without "line" before it a
// name and a number begin lines of many programs.
func isFaultText(s string) bool {
	return spoken(s, "not found", "No such file or directory", "Permission denied", "yntax error", "unexpected operator", "parameter not set", "unbound variable", "ad substitution", "annot open", "annot create", "rithmetic", "llegal ", "ad variable name", "numeric argument", "an't cd", "annot fork", "event not found", "no matches found", "not a valid identifier", "Exec format error", "cannot execute", "ambiguous redirect", "Argument list too long", "unexpected end of file", "expression expected", "unary operator expected", "xpecting", "invalid option", "Text file busy", "too many arguments", "readonly variable", "is a directory", "Is a directory", "bad interpreter")
}

// shellCanonical drops names that were made up for one run: CI steps and
// mktemp.
func shellCanonical(f Frame) Frame {
	name := base(f.File)
	stem := strings.TrimSuffix(name, ".sh")
	if isUUID(stem) || isHash(stem) || strings.HasPrefix(stem, "tmp") || strings.HasPrefix(stem, "script_step") || strings.Contains(f.File, "/tmp/") && strings.ContainsAny(stem, "0123456789") {
		name = "script"
	}
	return Frame{File: name, Line: f.Line}
}
