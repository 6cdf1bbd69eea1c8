package elastic

import (
	"math"
	"testing"
	"time"
)

func ms(t *testing.T, text string) float64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return float64(at.UnixMilli())
}

func TestDatesAreRead(t *testing.T) {
	for _, c := range []struct{ text, format, want string }{
		{"2015", "", "2015-01-01T00:00:00Z"},
		{"2015-02", "", "2015-02-01T00:00:00Z"},
		{"2015-02-11", "", "2015-02-11T00:00:00Z"},
		{"2015-02-11T10", "", "2015-02-11T10:00:00Z"},
		{"2015-02-11T10:20:30.123Z", "strict_date_optional_time", "2015-02-11T10:20:30.123Z"},
		{"2015-02-11T10:20:30.123456789+02:00", "date_time", "2015-02-11T08:20:30.123Z"},
		{"2015-02-11 10:20:30", "yyyy-MM-dd HH:mm:ss", "2015-02-11T10:20:30Z"},
		{"2015-02-11 10:20:30", "", "2015-02-11T10:20:30Z"},
		{"11/02/2015", "dd/MM/yyyy", "2015-02-11T00:00:00Z"},
		{"02/11/2015", "MM/dd/yyyy||yyyy", "2015-02-11T00:00:00Z"},
		{"2015/02/11", "", "2015-02-11T00:00:00Z"},
		{"20150211", "basic_date", "2015-02-11T00:00:00Z"},
		{"20150211", "yyyyMMdd", "2015-02-11T00:00:00Z"},
		{"2015-02-11T00:00:00", "yyyy-MM-dd'T'HH:mm:ss", "2015-02-11T00:00:00Z"},
		{"1423612800", "epoch_second", "2015-02-11T00:00:00Z"},
		{"1423612800000", "epoch_millis", "2015-02-11T00:00:00Z"},
		{"1423612800000", "strict_date_optional_time||epoch_millis", "2015-02-11T00:00:00Z"},
		{"2015-02-11||+1d", "", "2015-02-12T00:00:00Z"},
		{"2015-02-11||/M", "", "2015-02-11T00:00:00Z"},
		{"2015", "yyyy", "2015-01-01T00:00:00Z"},
	} {
		var format []byte
		if c.format != "" {
			format = []byte(c.format)
		}
		v := parseValue([]byte(c.text), format)
		if !v.ok || v.now || v.x != ms(t, c.want) {
			t.Errorf("%q (%s) is %+v, want %s", c.text, c.format, v, c.want)
		}
	}
	for text, want := range map[string]float64{"now": 0, "now-1d/d": -day, "now+90m": 90 * minute, "now-1h-5m": -65 * minute, "now/w": 0} {
		if v := parseValue([]byte(text), nil); !v.ok || !v.now || v.x != want {
			t.Errorf("%q is %+v, want now %+v", text, v, want)
		}
	}
	for _, text := range []string{"", "theres", "now-", "now-1x", "2015-13-01", "2015-02-11T", "99/99/9999", "2015-02-11||nonsense", "nownow"} {
		if v := parseValue([]byte(text), nil); v.ok && text != "2015-02-11T" {
			t.Errorf("%q is %+v", text, v)
		}
	}
}

func TestIntervalsAreRead(t *testing.T) {
	for text, want := range map[string]float64{
		"10ms": 10, "30s": 30000, "1m": minute, "1.5h": 1.5 * hour, "90m": 90 * minute, "1d": day, "2w": 14 * day, "week": 7 * day, "1M": month, "3M": 3 * month,
		"month": month, "quarter": 3 * month, "1q": 3 * month, "1y": year, "year": year, "500micros": 0.5, "1000000nanos": 1, "second": second,
	} {
		if got, ok := calendar([]byte(text)); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%q is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "auto", "1x", "h", "-"} {
		if got, ok := calendar([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	if got, ok := duration([]byte("-1")); !ok || !math.IsInf(got, 1) {
		t.Errorf("-1 is %v", got)
	}
}

func TestBeginningsAndStatesOfExpressions(t *testing.T) {
	for _, c := range []struct {
		pattern string
		leading bool
		low     float64 // states at least
		high    float64 // and at most
	}{
		{"abc", false, 1, 10},
		{"abc.*", false, 1, 10},
		{".*abc", true, 1, 10},
		{".+abc", true, 1, 10},
		{".abc", true, 1, 10},
		{"^.*abc", true, 1, 10},
		{"@abc", true, 1, 10},
		{"[a-z]*x", true, 1, 10},
		{"[a-z]x", false, 1, 10},
		{"[mM][oO].*", false, 1, 10},
		{"[^a]+x", true, 1, 10},
		{`\.*x`, false, 1, 10},
		{"(abc|.*d)", true, 1, 20},
		{"(abc|d.*)", false, 1, 20},
		{"(abc)?.*d", true, 1, 20},
		{"a*.*d", true, 1, 20},
		{"a|.*b", true, 1, 20},
		{"((((.*))))a", true, 1, 20},
		{"(?:.*)a", true, 1, 20},
		{"\"abc\".*", false, 1, 10},
		{".*", false, 1, 10},
		{"<1-100>x", false, 1, 10},
		{"a{1000}", false, 1000, 1000},
		{"(ab{2}){50}", false, 100, 200},
		{"((a{1,100}){1,100}){1,100}", false, 1e6, 1e6},
		{"x[ac]*a[ac]{50,200}", false, 1e12, math.Inf(1)},
		{"x.*a.{30}", false, 1e9, 1e10},
		{"x.*[0-9]{30}", false, 30, 100},
		{"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", false, 1, 100},
		{"x[a-z]{1,200}[a-z0-9]{1,200}", false, 40000, 41000},
		{"a{2147483647}", false, 2147483647, 2147483647},
		{"((((", false, 0, 10},
		{"[", false, 0, 10},
		{"a{", false, 1, 10},
		{`\`, false, 0, 10},
		{"(?", false, 0, 10},
	} {
		states, leading := automaton([]byte(c.pattern))
		if leading != c.leading || states < c.low || states > c.high {
			t.Errorf("%s: leading %v, %v states; want %v, %v to %v", c.pattern, leading, states, c.leading, c.low, c.high)
		}
	}
}

func TestQueryStringsAreRead(t *testing.T) {
	for _, c := range []struct {
		text             string
		terms, unfielded float64
		patterns         float64
		sel              selectivity
	}{
		{"quick brown", 2, 2, 0, selStrong},
		{"title:quick", 1, 0, 0, selStrong},
		{"title:(quick OR brown) fox", 3, 1, 0, selStrong},
		{"title:(a (b c)) d", 4, 1, 0, selStrong},
		{`title:"quick brown"^2 fox~`, 2, 1, 0, selStrong},
		{"age:[10 TO 20] AND name:{a TO b}", 2, 0, 0, selStrong},
		{"age:>=10 name: bob", 2, 0, 0, selStrong},
		{"qu?ck bro*", 2, 2, 2, selStrong},
		{"/joh?n(ath[oa]n)/", 1, 1, 1, selStrong},
		{`a\:b c\*d`, 2, 2, 0, selStrong},
		{"*", 0, 0, 0, selAll},
		{"*:*", 0, 0, 0, selAll},
		{"* OR status:200", 1, 0, 0, selAll},
		{"*:* AND status:200", 1, 0, 0, selStrong},
		{"host:*", 0, 0, 0, selWeak},
		{"_exists_:host", 1, 0, 0, selWeak},
		{"NOT status:200", 1, 0, 0, selWeak},
		{"-status:200", 1, 0, 0, selWeak},
		{"", 0, 0, 0, selAll},
		{"*:a", 1, 1, 0, selStrong},
		{"/a/b/c", 2, 2, 1, selStrong},
		{"\"", 1, 1, 0, selStrong},
		{"))((", 0, 0, 0, selAll},
	} {
		r := &Reader{t: &tape{}}
		r.begin(nil, r.q, r.o)
		sel := r.lucene([]byte(c.text), none, syntax{fields: none})
		if q := r.qs; q.terms != c.terms || q.unfielded != c.unfielded || q.patterns != c.patterns || sel != c.sel {
			t.Errorf("%q: %v terms, %v without a field, %v patterns, selectivity %v; want %+v", c.text, q.terms, q.unfielded, q.patterns, sel, c)
		}
	}
}

func TestNumbersAreReadAsJavaReadsThem(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"10", 10, true},
		{" 10 ", 10, true},
		{"10d", 10, true},
		{"1e3F", 1000, true},
		{"+5", 5, true},
		{"-5", -5, true},
		{"0x1p4", 16, true},
		{"-0X1P4d", -16, true},
		{"1e999", inf, true},
		{"0000000000000000000000000000000000000000000000000000000000000000007", 7, true},
		{"", 0, false},
		{"ten", 0, false},
		{"1 0", 0, false},
		{"d", 0, false},
		{"NaN", 0, false},
		{"0x", 0, false},
		{"1_000", 0, false},
	} {
		if got, ok := javaNumber([]byte(c.text)); got != c.want || ok != c.ok {
			t.Errorf("%q is %v, %v; want %v, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestTimesThatSomethingIsKept(t *testing.T) {
	for text, want := range map[string]float64{
		"": 0, "1m": minute, " 2h ": 2 * hour, "3 s": 3 * second, "4S": 4 * second, "5MS": 5, "1D": day, "500": 500, "-1": math.Inf(1), "ever": math.Inf(1),
	} {
		if got := kept([]byte(text)); got != want {
			t.Errorf("%q is %v ms, want %v", text, got, want)
		}
	}
}

// FuzzNumber: a number that is read is one, and every number of JSON is read.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1", " 1e5d", "0x1p-3F", "-0", "1.5.", "9e999", "+.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := javaNumber([]byte(text))
		if ok && math.IsNaN(v) {
			t.Fatalf("%q is no number, and was read", text)
		}
		if plain, isPlain := parseNumber([]byte(text)); isPlain && (!ok || v != plain) {
			t.Fatalf("%q is %v, then %v, %v", text, plain, v, ok)
		}
		if numberEnd([]byte(text+" "), 0) == len(text) && len(text) > 0 && len(text) < longNumber && !ok {
			t.Fatalf("%q is a number, and was not read", text)
		}
		if ms := kept([]byte(text)); math.IsNaN(ms) {
			t.Fatalf("%q is kept for no time", text)
		}
	})
}
