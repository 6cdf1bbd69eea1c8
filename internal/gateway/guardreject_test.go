package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

func TestRejectionsOfGraphQLHaveErrors(t *testing.T) {
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.GraphQL}, Config{})
	deep := `{"query": "` + strings.Repeat("{a", 20) + strings.Repeat("}", 20) + `"}`
	resp, body := dial(t, f.addr).post("/graphql", deep)
	var got struct {
		Detail string
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != 400 || len(got.Errors) != 1 || got.Errors[0].Message != got.Detail || got.Detail == "" {
		t.Errorf("%d %v: %s", resp.StatusCode, err, body)
	}
}
