// Package urlpath reads the paths of URLs in all the ways in which servers read them.
//
// [Resolve] returns the form that routes match. [Unclear] reports whether a path can be
// read in more than one way. [Readings] lists these ways. [Normalise] returns the one
// form in which nothing is left to decode or to remove.
package urlpath
