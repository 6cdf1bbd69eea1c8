package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdminToken(t *testing.T) {
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "full"), filepath.Join(dir, "empty")
	for path, text := range map[string]string{full: "  from-a-file\r\nsecond line\n", empty: "\nsecond"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOKEN", "from-the-environment")
	t.Setenv("BLANK", " ")
	for name, tt := range map[string]struct {
		c         Config
		want, err string
	}{
		"none":        {Config{}, "", ""},
		"file":        {Config{AdminTokenFile: full}, "from-a-file", ""},
		"empty file":  {Config{AdminTokenFile: empty}, "", "is empty"},
		"no file":     {Config{AdminTokenFile: full + "x"}, "", "admin_token_file: open"},
		"environment": {Config{AdminTokenEnv: "TOKEN"}, "from-the-environment", ""},
		"blank":       {Config{AdminTokenEnv: "BLANK"}, "", "BLANK is not set or empty"},
	} {
		got, err := tt.c.AdminToken()
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
