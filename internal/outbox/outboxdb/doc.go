// Package outboxdb opens the outbox of an application's database by its URL.
//
//	postgres://user@host/database     mysql://user@host/database     sqlite:PATH
package outboxdb
