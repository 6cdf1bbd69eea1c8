// The real driver of MySQL through guard/sqlguard, against a real MariaDB.
module github.com/bezoar-dev/bezoar/clients/mysql

go 1.26.0

require (
	github.com/bezoar-dev/bezoar v0.0.0
	github.com/go-sql-driver/mysql v1.10.1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/bezoar-dev/bezoar => ../..
