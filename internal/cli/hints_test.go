package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere lists hints that no script prints, and why.
var elsewhere = map[string]string{
	"its readers have %s": "TestResetOfASlot, which needs PostgreSQL",
	"--yes does it: changes that it has not read become no events; this cannot be undone": "TestResetOfASlot, which needs PostgreSQL",
}

// Every hint of the command line is compared, as a whole, by a script that runs the command.
func TestEveryHintIsInAScript(t *testing.T) {
	hints := hintsOf(t)
	if len(hints) < 60 {
		t.Fatalf("found only %d hints: does this test still know how they are written?", len(hints))
	}
	var compared []string
	line := regexp.MustCompile(`(?m)^(?:\[[a-z]+\] )?stderr '\^hint: (.+)\$'$`)
	for _, dir := range []string{"testdata/script", "../../cmd/bezoar/testdata/script"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts in %s: %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range line.FindAllStringSubmatch(string(text), -1) {
				compared = append(compared, hintEscape.ReplaceAllString(strings.ReplaceAll(m[1], "''", "'"), "$1"))
			}
		}
	}
	for text, at := range hints {
		if hintVerb.ReplaceAllString(text, "") == "" {
			continue // another package writes it, and tests it
		}
		form := hintForm(text)
		found := slices.ContainsFunc(compared, form.MatchString)
		why, excused := elsewhere[text]
		switch {
		case found && excused:
			t.Errorf("%s: a script compares %q: remove it from elsewhere (%s)", at, text, why)
		case !found && !excused:
			t.Errorf("%s: no script has a line that matches: stderr '^hint: %s$'", at, text)
		}
	}
}

var (
	hintEscape = regexp.MustCompile(`\\(.)`)
	hintVerb   = regexp.MustCompile(`%[-+#0-9.\[\]]*[a-zA-Z]`)
)

// hintForm matches a text that a format may give, or a pattern for one.
func hintForm(format string) *regexp.Regexp {
	var b strings.Builder
	for i, part := range hintVerb.Split(format, -1) {
		if i > 0 {
			b.WriteString(".+")
		}
		b.WriteString(regexp.QuoteMeta(part))
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// hintsOf returns the texts of this package's hints, with where they are.
func hintsOf(t *testing.T) map[string]string {
	t.Helper()
	hints := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		add := func(e ast.Expr) {
			if text := literal(e); text != "" {
				hints[text] = set.Position(e.Pos()).String()
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "hinted" && len(n.Args) > 1 {
					add(n.Args[1])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "hint" {
					add(n.Value)
				}
			case *ast.FuncDecl:
				if strings.HasSuffix(n.Name.Name, "Hint") || n.Name.Name == "hintFor" {
					returned(n, add)
				}
			}
			return true
		})
	}
	return hints
}

// returned calls add with what a function returns as a text, or formats.
func returned(f *ast.FuncDecl, add func(ast.Expr)) {
	ast.Inspect(f, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok || len(r.Results) != 1 {
			return true
		}
		e := r.Results[0]
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sprintf" {
				e = call.Args[0]
			}
		}
		add(e)
		return true
	})
}

// literal returns a text of the source, also if it is in parts; "" for anything else.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}
