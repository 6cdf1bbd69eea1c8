package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// function is a statement that the server keeps, with its plan, in each of its
// own sessions: behind any pooler nothing is parsed or planned twice. Its name
// holds a hash of its text, so that programs of different versions share a
// schema. What a former version has left is never called again.
type function struct {
	name, takes, returns, text string
}

// functions are those of queues.
var functions = []function{sendMessages, claimMessages, deleteMessages, countMessages}

// id is the function's name.
func (f function) id() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s", f.takes, f.returns, f.text, f.settings())
	return fmt.Sprintf("queue_%s_%016x", f.name, h.Sum64())
}

// settings keep the plan good however empty the tables were when it was made.
// Every step has an index that fits.
func (f function) settings() string {
	return `SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
		SET plan_cache_mode = force_generic_plan SET jit = off`
}

// call is how the function is called: SELECT * FROM f($1, …).
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

// makeFunctions makes those that are not there, one process at a time.
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
			return fmt.Errorf("make function %s.%s: %w", schema, f.id(), err)
		}
	}
	return nil
}
