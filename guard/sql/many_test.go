package sql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

// A text of very many statements has as many measures as can be looked at, the
// largest among them, and nothing in it is lowered in part.
func TestManyStatementsAreBounded(t *testing.T) {
	const one = "SELECT a FROM t WHERE b > 1;"
	var r sql.Reader
	read := func(text string) (list []cost.Measure, lowered int, joins float64) {
		list, err := r.Read(nil, cost.Query{Body: []byte(text)}, cost.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if m.Cap.Place != cost.CapNone {
				lowered++
			}
			if m.Predictor == cost.JoinCount {
				joins = max(joins, m.Value)
			}
		}
		return list, lowered, joins
	}
	if _, lowered, _ := read(one); lowered != 1 {
		t.Fatalf("of one statement %d values can be lowered: what follows shows nothing", lowered)
	}
	list, lowered, joins := read(strings.Repeat(one, 20_000) + "SELECT 1 FROM a JOIN b ON a.x = b.x JOIN c ON c.x = a.x LIMIT 1")
	if len(list) < 4096 || len(list) > 5000 || lowered > 0 || joins != 3 {
		t.Errorf("%d measures, %d can be lowered, %v joins", len(list), lowered, joins)
	}
	if _, lowered, _ := read(one); lowered != 1 {
		t.Errorf("after it, %d values of one statement can be lowered", lowered)
	}
}

// What is planned, or asks for no rows, is taken back, and hides nothing of what
// comes behind it, however much there is.
func TestManyPlannedHideNothing(t *testing.T) {
	var r sql.Reader
	text := strings.Repeat("SELECT a FROM t WHERE b > 1;", 5000) + "EXPLAIN DELETE FROM t; SELECT * FROM a, b, c LIMIT 0; DELETE FROM t; SELECT * FROM a, b WHERE a.x = 1"
	list, err := r.Read(nil, cost.Query{Body: []byte(text)}, cost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if where, cross := find(list, cost.MissingWhere), find(list, cost.CrossJoin); where != 1 || cross != 2 {
		t.Errorf("missing_where %v, cross_join %v", where, cross)
	}
}
