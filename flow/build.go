package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// buildOf returns the version of a definition without one: a hash of what its tasks run.
func buildOf(d Definition) string {
	data, err := json.Marshal(struct {
		Tasks []Task
		Env   map[string]Value
		Dir   string
	}{d.Tasks, d.Env, d.Dir})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
