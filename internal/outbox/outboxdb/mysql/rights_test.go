package mysql_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/mysql"
)

// TestRights has a relay's user lack rights: errors name the user, what it may not use, and
// the statement that helps.
func TestRights(t *testing.T) {
	d := newOutbox(t)
	exec := func(statement string) {
		t.Helper()
		if _, err := d.app.ExecContext(t.Context(), strings.ReplaceAll(statement, "{u}", "'"+d.schema+"'@'%'")); err != nil {
			if os.Getenv("BEZOAR_REQUIRE_SERVERS") == "" && strings.Contains(err.Error(), "denied") {
				t.Skipf("NOT RUN: the user of BEZOAR_TEST_MARIADB may not make users and grant rights: %v", err)
			}
			t.Fatalf("%s: %v", statement, err)
		}
	}
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.Trim(u.Path, "/")
	exec(`CREATE USER {u} IDENTIFIED BY 'p'`)
	defer exec(`DROP USER {u}`)
	u.User = url.UserPassword(d.schema, "p")
	refused := func(denied string) string {
		t.Helper()
		s, err := mysql.Open(t.Context(), mysql.Config{URL: u.String(), Schema: d.schema})
		if err == nil {
			_ = s.Close()
			t.Fatalf("it may, though it has no right; want %q", denied)
		}
		_, grant, found := strings.Cut(err.Error(), ": GRANT ")
		if !found || !strings.Contains(err.Error(), denied) || !strings.Contains(grant, " ON `"+base+"`.* TO '"+d.schema+"'@'") {
			t.Errorf("it says %v, want %q and the statement", err, denied)
		}
		return "GRANT " + grant
	}
	refused("'" + base + "'")
	exec("GRANT SELECT ON `" + base + "`." + d.schema + "_lease TO {u}")
	refused(d.schema + "_")
	exec("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE ROUTINE, ALTER ROUTINE ON `" + base + "`.* TO {u}")
	c := mysql.Config{URL: u.String(), Schema: d.schema}
	if err := mysql.Init(t.Context(), c); err != nil {
		t.Error(err)
	}
	s, err := mysql.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Acquire(t.Context(), "relay", 1e9); err != nil {
		t.Error(err)
	}
}
