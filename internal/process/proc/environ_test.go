package proc

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInherit(t *testing.T) {
	environ := []string{
		"A=1", "BEZOAR_KEY=x", "NOTIFY_SOCKET=x", "LISTEN_FDS=3", "PASSWORD=x", "BEZOAR=kept", "NOEQUALS", "PGPASSWORD=x", "PGPASSFILE=x", "PGHOST=h",
		"OTEL_EXPORTER_OTLP_HEADERS=x", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=x", "OTEL_EXPORTER_OTLP_ENDPOINT=e", "AWS_PROFILE=p", "AWS_SECRET_ACCESS_KEY=x",
	}
	for _, c := range []struct {
		what string
		by   Inherit
		want string
	}{
		{"nothing", Inherit{}, "A PASSWORD BEZOAR NOEQUALS PGHOST OTEL_EXPORTER_OTLP_ENDPOINT AWS_PROFILE AWS_SECRET_ACCESS_KEY"},
		{"secrets and drop", Inherit{Secrets: []string{"PASSWORD"}, Drop: []string{"AWS_*", "A"}}, "BEZOAR NOEQUALS PGHOST OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"keep", Inherit{Secrets: []string{"PASSWORD"}, Drop: []string{"*"}, Keep: []string{"PGPASS*", "PASSWORD", "NOTIFY_SOCKET"}}, "PASSWORD PGPASSWORD PGPASSFILE"},
	} {
		var got []string
		for _, e := range c.by.Of(environ) {
			name, _, _ := strings.Cut(e, "=")
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("with %s a child gets %q, want %q", c.what, got, c.want)
		}
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

func TestInheritOnly(t *testing.T) {
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
		if got := (Inherit{Only: c.only, Drop: c.drop}).Of(environ); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
