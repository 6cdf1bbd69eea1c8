package crash

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"
)

// labelled is one file of a labelled folder: index.tsv has the columns file,
// language and group, and whatever else helps people.
type labelled struct {
	file, language, truth string
	report                Report
}

// tally counts pairs of files of one language.
type tally struct {
	files, both, truth, told int // pairs together in both, in truth, as told
}

func (t tally) precision() float64 { return ratio(t.both, t.told) }
func (t tally) recall() float64    { return ratio(t.both, t.truth) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}

// TestPairs measures how well groups agree with the labels of a folder: of all
// pairs of files that share a Group, how many share a label (precision), and
// the other way round (recall). BEZOAR_CRASH_TRACES names another folder.
func TestPairs(t *testing.T) {
	folder := os.Getenv("BEZOAR_CRASH_TRACES")
	if folder == "" {
		folder = filepath.Join("testdata", "pairs")
	}
	files := readLabelled(t, folder)
	byLanguage := map[string]*tally{}
	total := compare(t, files, byLanguage)
	t.Log("\n" + table(byLanguage, total))
	if p, r := total.precision(), total.recall(); p < 0.99 || r < 0.97 {
		t.Errorf("precision %.3f and recall %.3f, want at least 0.99 and 0.97", p, r)
	}
}

func readLabelled(t *testing.T, folder string) []labelled {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("index.tsv of %s has %d rows: %v", folder, len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var out []labelled
	for _, row := range rows[1:] {
		l := labelled{file: row[column["file"]], language: row[column["language"]], truth: row[column["group"]]}
		b, err := os.ReadFile(filepath.Join(folder, l.file))
		if err != nil {
			t.Fatal(err)
		}
		if l.report, err = ParseBytes(b); err != nil {
			t.Errorf("%s: %v", l.file, err)
		}
		out = append(out, l)
	}
	return out
}

// compare counts all pairs; a pair of two languages counts for both.
func compare(t *testing.T, files []labelled, byLanguage map[string]*tally) tally {
	var total tally
	of := func(language string) *tally {
		if byLanguage[language] == nil {
			byLanguage[language] = &tally{}
		}
		return byLanguage[language]
	}
	for i, a := range files {
		of(a.language).files++
		total.files++
		for _, b := range files[:i] {
			truth, told := a.truth == b.truth, a.report.Group == b.report.Group
			counts := []*tally{&total, of(a.language)}
			if a.language != b.language {
				counts = append(counts, of(b.language))
			}
			for _, c := range counts {
				c.truth += number(truth)
				c.told += number(told)
				c.both += number(truth && told)
			}
			if truth != told {
				t.Logf("%s and %s: together %v, ought to be %v\n\t%s\n\t%s", b.file, a.file, told, truth, brief(b.report), brief(a.report))
			}
		}
	}
	return total
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func brief(r Report) string {
	return fmt.Sprintf("%s %s %s %s %q code=%q", r.Language, r.Quality, r.Type, r.Frame, r.Reason, r.Code)
}

func table(byLanguage map[string]*tally, total tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "language\tfiles\tpairs\tprecision\trecall")
	names := make([]string, 0, len(byLanguage))
	for name := range byLanguage {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		c := byLanguage[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%.3f\t%.3f\n", name, c.files, c.truth, c.precision(), c.recall())
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%.3f\t%.3f\n", total.files, total.truth, total.precision(), total.recall())
	w.Flush()
	return b.String()
}

// TestShow prints what is said of each file of the folder that
// BEZOAR_CRASH_SHOW names, for people.
func TestShow(t *testing.T) {
	folder := os.Getenv("BEZOAR_CRASH_SHOW")
	if folder == "" {
		folder = filepath.Join("testdata", "pairs")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no files: %v", folder, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(path, ".tsv") {
			continue
		}
		r, err := ParseBytes(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		t.Logf("%s\n\t%s\n\t%s %s", filepath.Base(path), brief(r), r.Class, strings.Join(r.Why, " · "))
	}
}
