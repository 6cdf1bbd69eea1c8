// Package forwarded finds the address of a caller behind proxies, from X-Forwarded-For
// and Forwarded (RFC 7239). Only what trusted proxies say counts.
package forwarded
