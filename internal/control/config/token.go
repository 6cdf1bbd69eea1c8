package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/regular"
)

// maxToken is the maximum size of the token file in bytes.
const maxToken = 4 << 10

// AdminToken returns the admin token from the file or the environment variable in the
// settings. It returns "" if neither is set.
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
			return "", fmt.Errorf("admin_token_env: the environment variable %s is not set or empty", c.AdminTokenEnv)
		}
		return token, nil
	}
	return "", nil
}
