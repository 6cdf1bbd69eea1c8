package proc

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInherited(t *testing.T) {
	got := Inherited([]string{"A=1", "BEZOAR_KEY=x", "NOTIFY_SOCKET=x", "LISTEN_FDS=3", "PASSWORD=x", "BEZOAR=kept", "NOEQUALS"}, []string{"PASSWORD"})
	if want := []string{"A=1", "BEZOAR=kept", "NOEQUALS"}; !slices.Equal(got, want) {
		t.Errorf("Inherited = %q, want %q", got, want)
	}
}

// Whoever looks a name up finds one value, and the last one given.
func TestOverride(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"A", "AB", "B", "C"}).Draw(t, "name") + "=" + rapid.StringMatching("[a=]{0,3}").Draw(t, "value")
	})
	rapid.Check(t, func(t *rapid.T) {
		over := rapid.SliceOf(entry).Draw(t, "over")
		base := rapid.SliceOfNDistinct(entry, 0, 4, func(e string) string { name, _, _ := strings.Cut(e, "="); return name }).Draw(t, "base")
		before := slices.Clone(base)
		want := map[string]string{}
		for _, e := range append(slices.Clone(base), over...) {
			name, value, _ := strings.Cut(e, "=")
			want[name] = value
		}
		got := Override(base, over...)
		if len(got) != len(want) {
			t.Fatalf("Override(%q, %q) = %q", base, over, got)
		}
		for _, e := range got {
			name, value, _ := strings.Cut(e, "=")
			if want[name] != value {
				t.Fatalf("Override(%q, %q) = %q", base, over, got)
			}
		}
		if !slices.Equal(base, before) {
			t.Fatalf("the base became %q", base)
		}
	})
}

func TestTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := Tail{Max: rapid.IntRange(1, 40).Draw(t, "max")}
		for range 2 {
			var all []byte
			for _, b := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 100)).Draw(t, "writes") {
				if n, err := tail.Write(b); n != len(b) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
				all = append(all, b...)
			}
			kept := all[max(0, len(all)-tail.Max):]
			if got := tail.Bytes(); !slices.Equal(got, kept) {
				t.Fatalf("Bytes = %q, want %q", got, kept)
			}
			if tail.Lost() != int64(len(all)-len(kept)) {
				t.Fatalf("Lost = %d of %d, kept %d", tail.Lost(), len(all), len(kept))
			}
			tail.Reset()
		}
	})
}

func TestSelect(t *testing.T) {
	environ := []string{"PATH=/bin", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=r", "DATABASE_URL=d", "AWS=a"}
	for name, c := range map[string]struct {
		only, drop []string
		want       []string
	}{
		"all":             {nil, nil, environ},
		"some":            {[]string{"DATABASE_URL"}, nil, []string{"PATH=/bin", "LC_ALL=C", "DATABASE_URL=d"}},
		"by a beginning":  {nil, []string{"AWS_*"}, []string{"PATH=/bin", "LC_ALL=C", "DATABASE_URL=d", "AWS=a"}},
		"what drop wants": {[]string{"AWS_*"}, []string{"AWS_SECRET_ACCESS_KEY", "PATH"}, []string{"LC_ALL=C", "AWS_REGION=r"}},
	} {
		if got := Select(environ, c.only, c.drop); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
