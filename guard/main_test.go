package guard

import (
	"math"
	"testing"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixedReader measures what it is told to.
type fixedReader []cost.Measure

func (f fixedReader) Read(dst []cost.Measure, _ cost.Query, o cost.Options) ([]cost.Measure, error) {
	for _, m := range f {
		if o.Explain {
			m.Path, m.Detail = "here", "so much"
		} else {
			m.Target = ""
		}
		dst = append(dst, m)
	}
	return dst, nil
}

// withMeasures is a guard whose queries all measure the same.
func withMeasures(tb testing.TB, l Limits, measures ...cost.Measure) *Guard {
	tb.Helper()
	g, err := New(Config{Limits: l})
	if err != nil {
		tb.Fatal(err)
	}
	g.scratches.New = func() any {
		d := newScratch()
		for i := range d.readers {
			d.readers[i] = fixedReader(measures)
		}
		return d
	}
	return g
}

func check(g *Guard, q Query) Verdict {
	var v Verdict
	g.Check(&q, &v)
	return v
}

func limits(tb testing.TB, yaml string) Limits {
	tb.Helper()
	l, err := ParseLimits("guard.yaml", []byte(yaml))
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func product(value float64, index string) cost.Measure {
	return cost.Measure{Predictor: cost.AggProduct, Value: value, Offset: -1, Target: index}
}

func inf() float64 { return math.Inf(1) }
