package outboxdemo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childArg makes the test binary a child of the demonstration.
const childArg = "-outbox-child"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, childArg) {
		if err := Child(context.Background(), os.Getenv, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func config(t *testing.T, database string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Command: []string{self, childArg}, Database: database, Orders: 100, Crashes: 6, Seed: 7}
}

// Crashes lose events, invent events, or do neither.
func TestWhatCrashesDo(t *testing.T) {
	databases := map[string]string{"sqlite": ""}
	if at := os.Getenv("BEZOAR_TEST_POSTGRES"); at != "" {
		databases["postgres"] = at
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t, database)
			var text bytes.Buffer
			c.Out = &text
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			third := c.Crashes / 3 // of the crashes are between the two
			for i, want := range []Result{
				{Way: WriteSend, Orders: c.Orders - third, Events: c.Orders - 2*third, Lost: third},
				{Way: SendWrite, Orders: c.Orders - 2*third, Events: c.Orders - third, Invented: third},
				{Way: Outbox, Orders: c.Orders - c.Crashes/2, Events: c.Orders - c.Crashes/2},
			} {
				got := r.Ways[i]
				if got.Way != want.Way || got.Orders != want.Orders || got.Events != want.Events || got.Lost != want.Lost || got.Invented != want.Invented || got.Late != 0 || got.Crashes != c.Crashes {
					t.Errorf("%s: %+v, want %+v", want.Way, got, want)
				}
			}
			if last := r.Ways[2]; last.RelayCrashes < 2 || last.Twice == 0 {
				t.Errorf("the relay was killed %d times, and %d events came again", last.RelayCrashes, last.Twice)
			}
			if !strings.Contains(text.String(), "write, then send") || !strings.Contains(text.String(), "delivered again") {
				t.Errorf("the report is\n%s", &text)
			}
		})
	}
}

func TestReportAsJSON(t *testing.T) {
	var text bytes.Buffer
	in := Report{Asked: 100, Database: "SQLite", Ways: []Result{{Way: WriteSend, Lost: 3}, {Way: Outbox, Twice: 4}}}
	if err := in.write(&text, true); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Asked int
		Ways  []map[string]any
	}
	if err := json.Unmarshal(text.Bytes(), &out); err != nil || out.Asked != 100 || len(out.Ways) != 2 || out.Ways[0]["lost"] != 3.0 || out.Ways[1]["delivered_again"] != 4.0 {
		t.Errorf("%v in\n%s", err, &text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := config(t, "")
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"command":  func(c *Config) { c.Command = nil },
		"database": func(c *Config) { c.Database = "mysql://db/shop" },
		"orders":   func(c *Config) { c.Orders = 1 },
		"crashes":  func(c *Config) { c.Crashes = 2 },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
