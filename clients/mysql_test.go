package clients

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The driver of MySQL goes through the guard to a real server.
func TestMySQLDriver(t *testing.T) {
	if os.Getenv("BEZOAR_TEST_MARIADB") == "" {
		absent(t, "no MariaDB: run make test, or export BEZOAR_TEST_MARIADB=$(../scripts/mariadb start)")
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-v", "./...")
	cmd.Dir = "mysql"
	out, err := cmd.CombinedOutput()
	const least = 6 // tests: one that is skipped proves nothing
	if passed := strings.Count(string(out), "\n--- PASS: "); err != nil || passed < least {
		t.Errorf("go test in mysql: %d tests passed, want at least %d, and %v\n%s", passed, least, err, out)
	}
}
