// Package sql reads SQL statements into measures of their cost.
package sql
