package crash

import "strings"

// sql reads what SQL clients print: psql, mysql, sqlite3, sqlcmd, sqlplus and
// clickhouse-client, and the servers' own words where a client passes them on.
func sql() language {
	return language{
		name:    "sql",
		begins:  sqlBegins,
		read:    sqlRead,
		library: func(Frame) bool { return false },
		vague:   func(string) bool { return true },
		kind:    func(e exception) string { return sqlKind(e.typ) },
	}
}

// sqlKind leaves out the state that not all clients print behind the number.
func sqlKind(typ string) string {
	if number, _, ok := strings.Cut(typ, " ("); ok {
		return number
	}
	return typ
}

// sqlGap is how many other lines may stand between errors of one run; those of
// one file belong together however far apart they are.
const sqlGap = 12

func sqlBegins(l string) bool {
	if len(l) < 6 {
		return false
	}
	switch l[0] {
	case 'E', 'F', 'p', 'm', 'P', 'R', 'M', 'O', 'C', 'S', 'c', 'd', '#':
	default:
		return false
	}
	_, ok := parseSQL([]string{l}, 0)
	return ok
}

// sqlError is one error of a client's.
type sqlError struct {
	typ, code, message string
	frame              Frame // the script, where the client names it
	lines              int
}

func sqlRead(lines []string, i int) (trace, int, bool) {
	first, ok := parseSQL(lines, i)
	if !ok {
		return trace{}, i, false
	}
	next := i + max(first.lines, 1)
	for j, gap := next, 0; j < len(lines); j++ {
		e, ok := parseSQL(lines, j)
		switch {
		case ok && e.family() == first.family():
			next, gap = j+1, 0
		case gap >= sqlGap && first.frame.File == "":
			j = len(lines)
		default:
			gap++
		}
	}
	e := exception{typ: first.typ, code: first.code, message: first.message}
	place := first.frame
	if place.File == "" {
		if in := plpgsql(lines, i+1, next); in.Function != "" {
			place = in
		}
	}
	if place != (Frame{}) {
		e.frames = []Frame{place}
	}
	t := trace{chain: []exception{e}, fatal: true, rank: rankSQL}
	if _, state, ok := strings.Cut(strings.TrimSuffix(e.typ, ")"), " ("); ok && len(state) == 5 {
		if class, ok := bySQLState(state); ok {
			t.class = class.String()
		}
	}
	return t, next, true
}

// family is whose cascade an error belongs to: its script's, else its client's.
func (e sqlError) family() string {
	if e.frame.File != "" {
		return e.frame.File
	}
	return e.typ[:min(3, len(e.typ))]
}

// parseSQL reads the error at lines[i].
func parseSQL(lines []string, i int) (sqlError, bool) {
	l := lines[i]
	switch {
	case strings.HasPrefix(l, "psql:"), strings.HasPrefix(l, "pg_"), strings.HasPrefix(l, "createdb: "), strings.HasPrefix(l, "dropdb: "), strings.HasPrefix(l, "createuser: "):
		return parsePostgresTool(l)
	case strings.HasPrefix(l, "connection to server "):
		return parsePostgresTool("psql: error: " + l)
	case strings.HasPrefix(l, "FATAL: ") && isServerRefusal(l[7:]), strings.HasPrefix(l, "ERROR:  "), strings.HasPrefix(l, "FATAL:  "), strings.HasPrefix(l, "PANIC:  "),
		strings.HasPrefix(l, "ERROR: ") && strings.Contains(l, "(SQLSTATE "):
		return parsePostgres(l), true
	case strings.HasPrefix(l, "ERROR "), strings.HasPrefix(l, "#"), strings.HasPrefix(l, "mysql"):
		return parseMySQL(lines, i)
	case strings.HasPrefix(l, "Error: "), strings.HasPrefix(l, "Parse error "), strings.HasPrefix(l, "Runtime error "):
		return parseSQLite(l)
	case strings.HasPrefix(l, "Msg "), strings.HasPrefix(l, "Sqlcmd: Error"):
		return parseSQLServer(lines, i)
	case strings.HasPrefix(l, "ORA-"), strings.HasPrefix(l, "SP2-"), strings.HasPrefix(l, "PLS-"):
		return parseOracle(lines, i)
	case strings.HasPrefix(l, "Code: "):
		return parseClickHouse(l)
	}
	return sqlError{}, false
}

// parsePostgresTool reads "psql:FILE:LINE: ERROR: …", "psql: error: … FATAL: …"
// and the like of pg_dump and its siblings. Where the server was is left out:
// one password is wrong on a socket and over TCP.
func parsePostgresTool(l string) (sqlError, bool) {
	var at Frame
	tool, rest, _ := strings.Cut(l, ":")
	if rest != "" && rest[0] != ' ' {
		// psql:FILE:LINE: , where FILE may have a drive
		end := strings.Index(rest, ": ")
		if end < 0 {
			return sqlError{}, false
		}
		colon := strings.LastIndexByte(rest[:end], ':')
		if colon <= 0 || countDigits(rest[colon+1:end]) != end-colon-1 {
			return sqlError{}, false
		}
		at = Frame{File: rest[:colon], Line: atoi(rest[colon+1 : end])}
		rest = rest[end+1:]
	}
	if strings.HasPrefix(rest, " NOTICE:") || strings.HasPrefix(rest, " WARNING:") || strings.HasPrefix(rest, " warning:") {
		return sqlError{}, false
	}
	for _, mark := range [...]string{"FATAL: ", "ERROR: ", "PANIC: ", "ERREUR: ", "FEHLER: "} {
		if k := strings.LastIndex(rest, mark); k >= 0 {
			e := parsePostgres(rest[k:])
			e.frame = at
			return e, true
		}
	}
	words := strings.TrimSpace(rest)
	msg, ok := strings.CutPrefix(words, "error: ")
	if !ok && !strings.HasPrefix(words, "could not") && at.File == "" {
		return sqlError{}, false
	}
	if !ok {
		msg = words
	}
	if k := strings.Index(msg, " failed: "); k > 0 && strings.HasPrefix(msg, "connection to server") {
		msg = msg[k+len(" failed: "):]
	}
	msg = strings.TrimPrefix(msg, "could not connect to server: ")
	return sqlError{typ: tool + " error", code: fold(strings.TrimSpace(msg)), message: msg, frame: at}, true
}

// isServerRefusal reports how a server turns a connection away; people who
// retype it lose one of the two blanks.
func isServerRefusal(s string) bool {
	return startsWith(s, "role ", "password authentication", "database ", "no pg_hba.conf", "sorry, too many", "remaining connection", "the database system", "Peer authentication", "Ident authentication")
}

// parsePostgres reads "ERROR:  message (SQLSTATE 42P01)".
func parsePostgres(l string) sqlError {
	typ, msg, _ := strings.Cut(l, ":")
	msg = strings.TrimSpace(msg)
	words := msg
	if k := strings.LastIndex(msg, " at character "); k > 0 && countDigits(msg[k+14:]) == len(msg)-k-14 {
		words = msg[:k] // a server's log says where, a client draws it
	}
	code := fold(words)
	if k := strings.Index(msg, "(SQLSTATE "); k >= 0 && len(msg) >= k+15 {
		code = msg[k+10 : k+15]
	}
	return sqlError{typ: typ, code: code, message: msg}
}

// plpgsql finds the function that an error came from in its CONTEXT.
func plpgsql(lines []string, i, end int) Frame {
	for ; i < min(end+6, len(lines)); i++ {
		_, rest, ok := strings.Cut(lines[i], "PL/pgSQL function ")
		if !ok {
			continue
		}
		name, where, _ := strings.Cut(rest, " line ")
		name, _, _ = strings.Cut(name, "(")
		if n := countDigits(where); n > 0 {
			return Frame{Function: strings.Trim(name, `"`), Line: atoi(where[:n])}
		}
	}
	return Frame{}
}

// parseMySQL reads "ERROR 1064 (42000) at line 22: message", phpMyAdmin's
// "#1064 - message", and what mysqldump and mysqladmin say.
func parseMySQL(lines []string, i int) (sqlError, bool) {
	l := lines[i]
	if strings.HasPrefix(l, "mysql") {
		return parseMySQLTool(l)
	}
	if rest, ok := strings.CutPrefix(l, "#"); ok {
		n := countDigits(rest)
		msg, ok := strings.CutPrefix(rest[n:], " - ")
		if n != 4 || !ok {
			return sqlError{}, false
		}
		return mySQLError("ERROR "+rest[:4], rest[:4], msg, lines, i), true
	}
	rest := strings.TrimPrefix(l, "ERROR ")
	if strings.Contains(rest[:min(len(rest), 16)], `\(`) {
		rest = strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(rest)
	}
	n := countDigits(rest)
	if n != 4 || !strings.HasPrefix(rest[n:], " (") || len(rest) < 12 || rest[11] != ')' {
		return sqlError{}, false
	}
	place, msg, _ := strings.Cut(rest[12:], ": ")
	var frame Frame
	if at, ok := strings.CutPrefix(place, " at line "); ok {
		frame.Line = atoi(at)
		if strings.HasSuffix(at, " in file") {
			file, said, _ := strings.Cut(strings.TrimPrefix(msg, "'"), "': ")
			frame.File, msg = file, said
		}
	}
	e := mySQLError("ERROR "+rest[:11]+")", rest[:4], msg, lines, i)
	e.frame = frame
	return e, true
}

// mySQLError makes an error of its message. What a syntax error is near to is
// all that tells two of them apart; it may begin in the next line.
func mySQLError(typ, number, msg string, lines []string, i int) sqlError {
	e := sqlError{typ: typ, message: msg}
	said, near, _ := strings.Cut(msg, "; check the manual")
	said, _, _ = strings.Cut(said, " (using password: ")
	e.code = number + ":" + fold(said)
	_, at, ok := strings.Cut(near, " near '")
	if !ok {
		return e
	}
	for k := i + 1; k < len(lines) && k <= i+2 && len(at) < 40; k++ {
		at += " " + strings.TrimSpace(lines[k])
	}
	at = strings.TrimSpace(at)
	at, _, _ = strings.Cut(at[:min(len(at), 40)], "' at line ")
	e.code += " near " + fold(strings.Trim(at, "\"'"))
	return e
}

// parseMySQLTool reads "mysqldump: Got error: 1045: Access denied …".
func parseMySQLTool(l string) (sqlError, bool) {
	tool, rest, ok := strings.Cut(l, ": ")
	_, after, ok0 := strings.Cut(rest, "rror: ")
	if !ok || !ok0 || strings.Contains(tool, " ") {
		return sqlError{}, false
	}
	msg := strings.Trim(after, "'\"")
	if n := countDigits(msg); n > 0 && strings.HasPrefix(msg[n:], ": ") {
		return sqlError{typ: "ERROR " + msg[:n], code: msg[:n], message: strings.Trim(msg[n+2:], "'\"")}, true
	}
	return sqlError{typ: tool + " error", code: fold(msg), message: msg}, true
}

// parseSQLite reads the shell's three forms.
func parseSQLite(l string) (sqlError, bool) {
	typ, rest, _ := strings.Cut(l, ": ")
	line := 0
	if kind, at, ok := strings.Cut(typ, " near line "); ok {
		typ, line = kind, atoi(at)
	} else if at, ok := strings.CutPrefix(rest, "near line "); ok {
		n := countDigits(at)
		line, rest = atoi(at[:n]), strings.TrimPrefix(at[n:], ": ")
	} else if !strings.HasPrefix(rest, "in prepare, ") && !strings.HasPrefix(rest, "stepping, ") && !strings.HasPrefix(rest, "no such table: ") && !strings.HasPrefix(rest, "unable to open database") {
		return sqlError{}, false
	}
	return sqlError{typ: typ, code: fold(rest), message: rest, frame: Frame{Line: line}}, true
}

// parseSQLServer reads "Msg 208, Level 16, State 1, Server X, Line 3" with its
// message in the next line.
func parseSQLServer(lines []string, i int) (sqlError, bool) {
	l := lines[i]
	if msg, ok := strings.CutPrefix(l, "Sqlcmd: Error: "); ok {
		if _, said, ok := strings.Cut(msg, " : "); ok {
			msg = said
		}
		return sqlError{typ: "Sqlcmd error", code: fold(msg), message: msg}, true
	}
	number := l[4 : 4+countDigits(l[4:])]
	if number == "" || !strings.Contains(l, ", Level ") {
		return sqlError{}, false
	}
	e := sqlError{typ: "Msg " + number, code: number, lines: 1}
	if _, rest, ok := strings.Cut(l, ", Procedure "); ok {
		e.frame.Function, _, _ = strings.Cut(rest, ",")
	}
	if _, rest, ok := strings.Cut(l, ", Line "); ok {
		e.frame.Line = atoi(rest)
	}
	if i+1 < len(lines) {
		e.message, e.lines = lines[i+1], 2
	}
	e.code += ":" + fold(e.message)
	return e, true
}

// parseOracle reads the first ORA- line, and the ORA-06512 lines behind it for
// the place.
func parseOracle(lines []string, i int) (sqlError, bool) {
	code, msg, ok := strings.Cut(lines[i], ": ")
	if !ok || len(code) < 8 || len(code) > 10 || countDigits(code[4:]) != len(code)-4 {
		return sqlError{}, false
	}
	e := sqlError{typ: code, code: code, message: msg, lines: 1}
	for j := i + 1; j < len(lines) && j < i+64 && strings.HasPrefix(lines[j], "ORA-"); j++ {
		e.lines = j - i + 1
		at, ok := strings.CutPrefix(lines[j], `ORA-06512: at `)
		if !ok || e.frame.Line > 0 {
			continue
		}
		name, where, _ := strings.Cut(at, "line ")
		e.frame = Frame{Function: strings.Trim(name, `", `), Line: atoi(where)}
	}
	return e, true
}

// parseClickHouse reads "Code: 60. DB::Exception: message. (UNKNOWN_TABLE)".
func parseClickHouse(l string) (sqlError, bool) {
	number := l[6 : 6+countDigits(l[6:])]
	at := strings.LastIndex(l, "DB::")
	if number == "" || at < 0 {
		return sqlError{}, false
	}
	typ, msg, _ := strings.Cut(l[at:], ": ")
	return sqlError{typ: typ, code: number + ":" + fold(msg), message: msg}, true
}
