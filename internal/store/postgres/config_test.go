package postgres_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

func TestConfigNamesEveryFault(t *testing.T) {
	err := postgres.Config{URL: "mysql://h/db", Schema: "a-b", MaxLetters: -1}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"URL", "Schema", "MaxLetters"} {
		if !strings.Contains(err.Error(), field+":") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
	if err := (postgres.Config{URL: "postgres://u@h/db?pool_max_conns=3"}).Validate(); err != nil {
		t.Errorf("a good one was refused: %v", err)
	}
}

func TestURLFaults(t *testing.T) {
	for url, say := range map[string]string{
		"":                               "postgres://",
		"postgres://u:hunter2%zz@h/db":   "percent-encoded",
		"postgres://u:hunter2@h:port/db": "percent-encoded",
		"host=h password=hunter2":        "postgres://",
		"mysql://u:hunter2@h/db":         "postgres://",
		"postgres://u:hunter2@h/db?sslmode=perhaps":                 "sslmode",
		"postgres://u:hunter2@h/db?default_query_exec_mode=guess":   "default_query_exec_mode",
		"postgres://u@h/db?password=hunter2&pool_max_conns=several": "pool_max_conns",
	} {
		c := postgres.Config{URL: url}
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want mention of %q", url, err, say)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the fault of %s shows the password: %v", url, err)
		}
	}
}

func TestPrintedConfigHidesPasswords(t *testing.T) {
	for _, url := range []string{"postgres://u:hunter2@h/db", "postgres://h/db?password=hunter2", "postgres://u:hunter2%zz@h/db"} {
		c := postgres.Config{URL: url}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("open", "config", c)
		for _, printed := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), log.String()} {
			if strings.Contains(printed, "hunter2") {
				t.Errorf("%s shows the password", printed)
			}
		}
	}
}
