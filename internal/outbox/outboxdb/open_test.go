package outboxdb_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/outbox"
)

func TestURLs(t *testing.T) {
	for url, kind := range map[string]string{
		"postgres://u@h/d": "postgres", "postgresql://u@h/d": "postgres", "mysql://u@h/d": "mysql", "sqlite:a.db": "sqlite",
		"oracle://u:hunter2@h/d": "", "hunter2": "", "": "",
	} {
		if got := outboxdb.Kind(url); got != kind {
			t.Errorf("%s is of kind %q, want %q", url, got, kind)
		}
		if kind != "" {
			continue
		}
		_, opened := outboxdb.Open(t.Context(), url, outboxdb.Config{})
		_, made := outboxdb.Init(t.Context(), url, outboxdb.Config{})
		for _, err := range []error{opened, made} {
			if !errors.Is(err, outboxdb.ErrURL) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

func TestInit(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{Notify: true}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("notifications of SQLite: %v", err)
	}
	first, err := outboxdb.Init(t.Context(), url, outboxdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := outboxdb.Init(t.Context(), url, outboxdb.Config{})
	if err != nil || again.ID != first.ID || first.ID == "" {
		t.Errorf("made again, the outbox is %+v, %v; want %+v", again, err, first)
	}
	if _, err := outboxdb.Open(t.Context(), url, outboxdb.Config{Schema: "other"}); !errors.Is(err, outbox.ErrAbsent) {
		t.Errorf("an outbox that is not there: %v", err)
	}
}

func TestSQL(t *testing.T) {
	for _, kind := range []string{"postgres", "mysql", "sqlite"} {
		if text, err := outboxdb.SQL(kind, outboxdb.Config{Schema: "shop_events"}); err != nil || !strings.Contains(text, "shop_events") || strings.Contains(text, "{schema}") {
			t.Errorf("%s: %.100s, %v", kind, text, err)
		}
	}
	if _, err := outboxdb.SQL("oracle", outboxdb.Config{}); err == nil {
		t.Error("there is SQL for Oracle")
	}
}
