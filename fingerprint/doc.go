// Package fingerprint turns requests into keyed 128-bit fingerprints, which tell that two
// pieces of work are the same, and shapes, which tell that they are alike. It also makes
// variants, which tell that callers sent the same bytes, and features, which tell work
// that kills from work that does not.
//
// # Guarantees
//
// A fingerprint is SHA-256(secret ‖ domain tag ‖ canonical request), cut to 128
// bits (the cut also closes length extension). Parts are framed by their
// lengths, so no two different canonical requests have the same bytes. The same
// request has the same fingerprint in every process that has the secret; the
// domain tag carries a version, and a change of the canonical form changes it.
//
// A shape is SipHash-2-4-128 of the skeleton under a key drawn from the secret. Time is
// linear in the input, since at most 1,024 names are sorted together. Nothing is
// allocated once the buffers have grown.
//
// A Printer remembers the identities of 8,192 requests with a body and of 8,192 without
// one, in 400 KB each, so that a request that comes again byte by byte is not read again.
// For each processor it also remembers which members objects had, in at most 700 KB, so
// that it need not read and sort their names again. Neither ever changes a result.
//
// # The canonical request
//
// One rule decides which spellings become equal: two spellings are one request when every
// mainstream parser reads them in the same way. Where parsers disagree, the spellings
// stay apart, because the disagreement may be what kills. Malformed parts are compared
// byte by byte.
//
//   - Method: unchanged. Methods are case-sensitive: get is not GET.
//   - Path: escapes of unreserved characters are decoded, other escapes get upper-case
//     digits, and bare bytes that a path must not contain are escaped. Dot segments are
//     resolved after that, as every browser does; otherwise one resource would have
//     endlessly many names. Empty segments stay: to object stores /a//b is not /a/b. %2F
//     is not a slash, + is a plus, letters keep their case. A path with a broken escape
//     is malformed. "" is "/".
//   - Query: split at &, each name and value decoded (+ and %20 are both a space, %2B is
//     a plus) and escaped in one way. Sorted by name; the values of one name keep their
//     order. Empty pairs are dropped. a and a= differ, since frameworks tell null from
//     "". A bare ; differs from an escaped one, since some parsers split there. A broken
//     escape makes its name or value malformed, not the whole query. More than 1,024
//     pairs keep their order.
//   - Content-Type: type, parameter names and charset in lower case, parameters sorted,
//     quotes written in one way. Dropped: a multipart's boundary, and charset=utf-8 of
//     JSON, forms and multiparts, which is their default. A repeated parameter is
//     malformed.
//   - The configured headers (by default none): by name; values in order, trimmed. An
//     absent header differs from an empty one.
//   - Content-Encoding, when there is a body. An encoded body is opaque.
//   - The body, by its type, as below.
//
// # Bodies
//
// JSON (application/json, text/json, application/x-amz-json-1.1 and the like of AWS,
// anything +json): white space is dropped, members are sorted by name, unless an object
// has more than 1,024.
//
//   - Numbers keep their digits and never pass through a float, which would merge large
//     integers. Only spellings that every parser reads alike become equal: 1E+05 is 1e5.
//     But 1, 1.0 and 1e0 are three: Python, Java and Go decoders tell them apart. So are
//     0 and -0.
//   - Repeated names are all kept, in their order among each other: some parsers take the
//     first, some the last, some refuse.
//   - Strings are UTF-8: escapes become characters, except ", \, controls and half
//     surrogate pairs, which have one escape each. Unicode is not normalised: é in one
//     code point is not é in two.
//   - Invalid JSON, invalid UTF-8, a byte-order mark and nesting beyond 64 levels make
//     the body opaque.
//
// Lines of JSON (application/x-ndjson, application/ndjson, text/x-ndjson,
// application/jsonl, application/x-jsonl, application/jsonlines,
// application/x-jsonlines): each line is canonicalised and blank lines are dropped. One
// bad line makes the body opaque.
//
// Forms (application/x-www-form-urlencoded): as the query.
//
// Multiparts: preamble, parts and epilogue count, the boundary does not. Parts keep their
// order and their bytes. The boundary of a multipart that is nested in a part counts.
// Bare newlines as line ends, a missing boundary or an ineffective one make the body
// opaque.
//
// Everything else is opaque: it is compared byte by byte.
//
// A body beyond [Printer.MaxBody] has no canonical form at admission, because half a
// document has none. Only its first bytes and its declared length count, whatever its
// type. The boundary of a multipart is left out here too, but the declared length
// includes it. Ignored parts of such a body are not ignored. A [Stream] digests the
// complete body while it passes.
//
// # Ignore
//
// Config.Ignore takes volatile parts out of identity and out of the shape: "query:ts" and
// "form:nonce" drop every pair with that decoded name; "json:$.a.b" and
// "json:$.items[*].id" drop members and elements as if they had not been sent. A header
// is not part of identity unless it is configured, so "header:…" changes nothing and only
// documents it.
//
// # Shapes
//
// The skeleton, which [Printer.Skeleton] shows, has the method; the path with its words,
// where segments that look like data are replaced by their class; parameter names with
// the class of their values and a bucket for their length (its number of bits); the media
// type; and the structure of the body: members as a set, an array as the set of its
// elements' skeletons. It spells out at most 16 segments, 64 different members of one
// object and 8 different elements of one array. Names that look like ids are replaced by
// their class. Of opaque bytes only the first 64 count.
//
// The classes are guesses by characters and deliberately cheap: empty, int, dec, hex,
// uuid, bool, word, words, url, email, date, token (ids, base64), text, meta (syntax of
// regular expressions, SQL or shells) and binary. Nothing may be refused by shape alone.
//
// An endpoint ([Printer.Endpoint]) is the skeleton's method and path. A caller that
// varies names and lengths makes new shapes without end, but they have the same endpoint.
//
// # Variants
//
// A variant is SHA-256(secret ‖ domain tag ‖ what was sent), cut to 128 bits. Nothing in
// it is made canonical: method, path and query as received, the fields in their order
// (names in lower case; the gateway adds the trailers of a body that is held), and the
// bytes of the body. Config.Ignore does not apply, since an ignored part may be what
// kills. Left out are:
//
//   - Fields that end at Bezoar: fields about the connection, fields that Connection
//     names, the framing of the body (Content-Length, Transfer-Encoding, Trailer,
//     Expect), and the timeouts that Bezoar writes anew. TE and Upgrade count.
//   - The volatile fields, [DefaultVolatile] and Config.Volatile, when their value is
//     ordinary: at most 1,024 bytes of letters, digits, blanks and -_.:;=,/+@~|"()[]*%.
//     Any other value counts. Otherwise a caller could hide what kills in a trace id, and
//     other callers with the same request would share the blame.
//   - The caller, unless it is given.
//
// So one piece of work can have several variants, and one variant is always the same
// work. Of a body beyond [Printer.MaxBody] its first bytes and its declared length count.
// A field that is left out can still be what kills: an ordinary trace id, or an address.
//
// # Features
//
// A feature is one property of a request: the presence of a header field, cookie, query
// parameter, form field or JSON member, one of these with its value, the method, the
// caller, or the length of a body that could not be read to its end (its number of bits).
// It is SipHash-2-4 under a key drawn from the secret, cut to 60 bits behind 4 bits for
// the kind. For volatile fields only the presence is a feature. JSON members lie at most
// four steps deep, and all elements of an array are one, [*]. Names and values are
// decoded as for the fingerprint. The body is read as far as it is well-formed, and at
// most its first 64 KiB.
//
// [Printer.Features] keeps at most 64, and reports which groups it had to cut. [Lacks]
// tells absent features from cut ones. Neither Features nor Variant reads Input.Header;
// both may be called while others read the same Input. [Traits] binds both to one
// request.
package fingerprint
