package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

func TestADamagedMessageIsNotDelivered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bezoar.db")
	queuetest.Damage(t, reopen(t, sqlite.Config{Path: path}).Queue(), func(was, is string) {
		execSQL(t, path, "UPDATE queue_payloads SET body = CAST('"+is+"' AS BLOB) WHERE CAST(body AS TEXT) = '"+was+"'")
	})
}
