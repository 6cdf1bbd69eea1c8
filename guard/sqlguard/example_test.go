package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

func Example() {
	g, err := guard.New(guard.Config{Limits: guard.Limits{
		Profile: guard.ProfileStrict,
		Rules:   []guard.Rule{{Predictor: cost.MissingLimit, Limit: 2, Action: guard.Cap}},
	}})
	if err != nil {
		panic(err)
	}
	connector, err := sqlguard.Connector(connectTo{&sqlite.Driver{}, ":memory:"}, sqlguard.Config{Guard: g})
	if err != nil {
		panic(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1) // a database in memory is one connection's

	ctx := context.Background()
	for _, statement := range []string{
		"CREATE TABLE birds (name TEXT)",
		"INSERT INTO birds VALUES ('auk'), ('bee-eater'), ('crow')",
		"DELETE FROM birds",
	} {
		_, err := db.ExecContext(ctx, statement)
		if r, ok := errors.AsType[*sqlguard.Rejected](err); ok {
			fmt.Println("rejected:", r.Verdict.Findings[0])
		} else if err != nil {
			panic(err)
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT name FROM birds ORDER BY name")
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			panic(err)
		}
		fmt.Println(name)
	}
	if err := rows.Err(); err != nil {
		panic(err)
	}
	// Output:
	// rejected: 1:1 DELETE: missing_where is 1, limit 0 (reject): add a WHERE that selects the rows to delete; to empty the table, use TRUNCATE
	// auk
	// bee-eater
}

func ExampleTracer() {
	connect := func(ctx context.Context, url string, g *guard.Guard) (*pgxpool.Pool, error) {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config.ConnConfig.Tracer, err = sqlguard.NewTracer(sqlguard.Config{Guard: g})
		if err != nil {
			return nil, err
		}
		return pgxpool.NewWithConfig(ctx, config)
	}
	_ = connect
}
