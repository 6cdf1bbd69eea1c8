// Package forwarded finds the address of a caller behind proxies, from X-Forwarded-For
// and Forwarded (RFC 7239). It believes only what trusted proxies added.
package forwarded
