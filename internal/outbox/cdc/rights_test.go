package cdc

import (
	"fmt"
	"strings"
	"testing"
)

// What a role may not do is told with its name, the table and the statement that helps,
// and goes on once somebody has run it.
func TestRightsOfACapture(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	role := b.name + "_r"
	b.exec(fmt.Sprintf(`CREATE TABLE items (id int PRIMARY KEY); INSERT INTO items VALUES (1); CREATE ROLE %[1]s LOGIN; GRANT bezoar TO %[1]s`, role))
	b.exec(fmt.Sprintf(`CREATE PUBLICATION %s FOR TABLE items WITH (publish = 'insert, update, delete', publish_via_partition_root = true)`, b.name))
	c, _ := b.capture(func(c *CaptureConfig) { c.URL = strings.Replace(c.URL, "bezoar@", role+"@", 1) }, Table{Name: "items", Copy: true})
	says := func(what string) {
		t.Helper()
		eventually(t, "it says "+what, func() bool {
			s := c.Status()
			return s.Health == Failing && strings.Contains(s.Reason, what)
		})
	}
	says(fmt.Sprintf(`the role "%[1]s" may not read the log: ALTER ROLE "%[1]s" REPLICATION`, role))
	// It owns the outbox, and may no longer read the table.
	b.exec(fmt.Sprintf(`REVOKE bezoar FROM %[1]s; GRANT USAGE, CREATE ON SCHEMA box TO %[1]s; GRANT ALL ON ALL TABLES IN SCHEMA box TO %[1]s;
		GRANT ALL ON ALL SEQUENCES IN SCHEMA box TO %[1]s; ALTER ROLE %[1]s REPLICATION`, role))
	b.exec(fmt.Sprintf(`ALTER TABLE box.cdc OWNER TO %[1]s; ALTER FUNCTION box.write_changes OWNER TO %[1]s`, role))
	says(fmt.Sprintf(`the role "%[1]s" may not copy public.items: GRANT SELECT ON "public"."items" TO "%[1]s"`, role))
	b.exec(fmt.Sprintf(`GRANT SELECT ON "public"."items" TO "%s"`, role))
	c.await(t, Reading)
	b.awaitEvents(1)
}
