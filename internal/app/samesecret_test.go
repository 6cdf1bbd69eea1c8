package app_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// Each node learns whether the one before it had the same secret; when all have
// changed theirs, only the first is told.
func TestNodesWithOtherSecretsAreTold(t *testing.T) {
	for _, kind := range stores(t, "both") {
		t.Run(kind.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), kind.open(t, t.TempDir()), store.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			for i, tc := range []struct {
				key  byte
				same bool
			}{{1, true}, {1, true}, {2, false}, {2, true}, {1, false}} {
				if same, err := app.SameSecret(t.Context(), s.Queue, [32]byte{tc.key}); err != nil || same != tc.same {
					t.Errorf("node %d with secret %d: %v, %v", i+1, tc.key, same, err)
				}
			}
		})
	}
}
