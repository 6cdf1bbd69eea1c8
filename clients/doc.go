// Package clients holds no code: its tests drive a real Bezoar with real SQS
// clients, on every store, with a client of Elasticsearch, and a driver of
// MySQL with a real MariaDB, each in a process of its own. Everything that is
// needed is fetched by scripts/clients and scripts/mariadb.
package clients
