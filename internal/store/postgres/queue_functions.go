package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// function is a statement that the server stores with its plan in each of its sessions, so
// that it is not parsed and planned again, even behind a pooler. Its name contains a hash
// of its text, so that programs of different versions can share a schema. Functions of
// earlier versions are never called again.
type function struct {
	name, takes, returns, text string
}

// functions lists the functions for queues.
var functions = []function{sendMessages, claimMessages, deleteMessages, countMessages}

// id returns the function's name.
func (f function) id() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s", f.takes, f.returns, f.text, f.settings())
	return fmt.Sprintf("queue_%s_%016x", f.name, h.Sum64())
}

// settings make the plan good even if the tables were empty when it was made: every step
// uses an index.
func (f function) settings() string {
	return `SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
		SET plan_cache_mode = force_generic_plan SET jit = off`
}

// call returns the call of the function: SELECT * FROM f($1, …).
func (f function) call(schema string) string {
	args := make([]string, strings.Count(f.takes, ",")+1)
	for i, kind := range strings.Split(f.takes, ",") {
		args[i] = fmt.Sprintf("$%d::%s", i+1, strings.TrimSpace(kind))
	}
	return fmt.Sprintf("SELECT * FROM %s.%s(%s)", schema, f.id(), strings.Join(args, ", "))
}

func (f function) define(schema string) string {
	return inSchema(schema, fmt.Sprintf(`CREATE OR REPLACE FUNCTION {schema}.%s(%s) RETURNS TABLE (%s) LANGUAGE plpgsql %s AS $body$
#variable_conflict use_column
BEGIN
	RETURN QUERY %s;
END $body$`, f.id(), f.takes, f.returns, f.settings(), f.text))
}

// makeFunctions creates missing functions, one process at a time.
func makeFunctions(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	for _, f := range functions {
		var there bool
		err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE n.nspname = $1 AND p.proname = $2)`, schema, f.id()).Scan(&there)
		if err != nil || there {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := pool.Exec(ctx, f.define(schema)); err != nil {
			return fmt.Errorf("create function %s.%s: %w", schema, f.id(), err)
		}
	}
	return nil
}
