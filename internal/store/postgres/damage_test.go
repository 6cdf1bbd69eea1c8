package postgres

import (
	"testing"

	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

func TestADamagedMessageIsNotDelivered(t *testing.T) {
	t.Parallel()
	db := openOwn(t)
	queuetest.Damage(t, db.Queue(), func(was, is string) {
		_, err := db.pool.Exec(t.Context(), "UPDATE "+db.queue.schema+".queue_payloads SET body = $1 WHERE body = $2", []byte(is), []byte(was))
		if err != nil {
			t.Fatal(err)
		}
	})
}
