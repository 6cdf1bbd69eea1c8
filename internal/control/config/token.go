package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// maxToken bounds the token file.
const maxToken = 4 << 10

// AdminToken reads the admin token from where the settings say: the first line
// of a file, or an environment variable. It returns "" when they name neither.
func (c Config) AdminToken() (string, error) {
	switch {
	case c.AdminTokenFile != "":
		text, err := regular.Read(c.AdminTokenFile, maxToken)
		if err != nil {
			return "", fmt.Errorf("admin_token_file: %w", err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		if line = strings.TrimSpace(line); line == "" {
			return "", fmt.Errorf("admin_token_file: the first line of %s is empty", c.AdminTokenFile)
		}
		return line, nil
	case c.AdminTokenEnv != "":
		token := strings.TrimSpace(os.Getenv(c.AdminTokenEnv))
		if token == "" {
			return "", fmt.Errorf("admin_token_env: the environment has no %s", c.AdminTokenEnv)
		}
		return token, nil
	}
	return "", nil
}
