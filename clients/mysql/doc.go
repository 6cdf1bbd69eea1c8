// Package mysql holds no code: its tests run go-sql-driver/mysql through the
// guard against the MariaDB that BEZOAR_TEST_MARIADB names, and hold what the
// guard takes for text, comment and code against what the server does.
package mysql
