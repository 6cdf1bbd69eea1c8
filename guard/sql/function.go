package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// longestName is the maximum length of a name that is looked up as a function.
const longestName = 64

// sortOf is the kind of a function.
type sortOf uint8

const (
	ordinary sortOf = iota
	aggregates
	randomly
	refused
	matches // its second argument is a regular expression
	makes   // generates rows or text
)

// note reads a call: k is the token of the function's name, followed by a bracket.
func (r *Reader) note(e *operand, k int) {
	if e.call < 0 {
		e.call = k
	}
	switch r.call(k) {
	case aggregates:
		if !r.windowed(r.skip(k + 1)) {
			e.aggregate = true
		}
	case randomly:
		if e.random < 0 {
			e.random = k
		}
	case matches:
		if e.regex < 0 {
			e.regex = k
		}
		r.argumentPattern(k)
	case makes:
		r.generate(k)
	case ordinary, refused:
	}
}

// call classifies the function at k, and measures a denied one.
func (r *Reader) call(k int) sortOf {
	t := r.tok(k)
	name := r.text[t.start:t.end]
	if t.kind == quoted {
		name = inside(name)
		if r.escaped(k) { // escapes may spell any name
			name = r.unicode(name)
		}
	}
	s := r.functionSort(name)
	if s == refused {
		r.denied(k, "")
	}
	return s
}

// escaped reports whether token k is a name in escapes, as U&"…".
func (r *Reader) escaped(k int) bool {
	t := r.tok(k)
	return t.kind == quoted && r.text[t.start]|0x20 == 'u'
}

func (r *Reader) functionSort(name []byte) sortOf {
	var room [longestName]byte
	if len(name) > len(room) {
		return ordinary
	}
	low := room[:len(name)]
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	if _, ok := r.o.Denied[string(low)]; ok {
		return refused
	}
	return functionSort(low)
}

func (r *Reader) isDenied(name []byte) bool {
	return r.functionSort(name) == refused
}

// functionSort knows functions by their names in lower case.
func functionSort(name []byte) sortOf {
	switch string(name) {
	case "count", "sum", "min", "max", "avg", "array_agg", "string_agg", "group_concat", "json_agg", "jsonb_agg", "json_object_agg",
		"jsonb_object_agg", "json_arrayagg", "json_objectagg", "xmlagg", "listagg", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor",
		"stddev", "stddev_pop", "stddev_samp", "std", "variance", "var_pop", "var_samp", "corr", "covar_pop", "covar_samp",
		"percentile_cont", "percentile_disc", "mode", "median", "any_value", "approx_count_distinct", "approx_distinct", "total",
		"first_agg", "range_agg", "st_collect", "st_union", "st_extent", "regr_slope", "uniq", "uniqexact", "hll_add_agg", "count_if", "countif", "sumif":
		return aggregates
	case "rand", "random", "newid", "uuid", "gen_random_uuid", "uuid_generate_v4", "random_bytes", "dbms_random.value", "generateuuidv4":
		return randomly
	case "sleep", "benchmark", "pg_sleep", "pg_sleep_for", "pg_sleep_until", // only consume time
		"master_pos_wait", "source_pos_wait", "wait_for_executed_gtid_set", "wait_until_sql_thread_after_gtids", // wait
		"load_file", "lo_import", "lo_export", "pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "load_extension", // read and write files
		"sys_exec", "sys_eval", "xp_cmdshell", "xp_dirtree", "xp_fileexist", "xp_regread", "xp_regwrite", "sp_oacreate", "sp_oamethod", // run commands
		"dblink", "dblink_exec", "dblink_connect", "dblink_connect_u", "dblink_open", "dblink_send_query", // run statements elsewhere
		"query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "database_to_xml", "schema_to_xml", // run what a string says
		"pg_terminate_backend", "pg_reload_conf", "pg_rotate_logfile":
		return refused
	case "generate_series", "repeat", "rpad", "lpad", "space", "replicate", "zeroblob", "randomblob":
		return makes
	case "regexp_like", "regexp_matches", "regexp_match", "regexp_replace", "regexp_substr", "regexp_instr", "regexp_count", "regexp_split_to_array", "regexp_split_to_table":
		return matches
	}
	return ordinary
}

// DeniedFunctions returns the functions that [cost.DeniedFunction] counts by default: they
// wait, read files, or run commands and statements that the guard does not see. Locking
// functions, such as GET_LOCK and pg_advisory_lock, are not included, because migrations
// and leader elections use them. Options.Denied adds to the list.
func DeniedFunctions() []string {
	return []string{
		"benchmark", "database_to_xml", "dblink", "dblink_connect", "dblink_connect_u", "dblink_exec", "dblink_open", "dblink_send_query",
		"lo_export", "lo_import", "load_extension", "load_file", "master_pos_wait", "pg_ls_dir", "pg_read_binary_file",
		"pg_read_file", "pg_reload_conf", "pg_rotate_logfile", "pg_sleep", "pg_sleep_for", "pg_sleep_until", "pg_stat_file",
		"pg_terminate_backend", "query_to_xml", "query_to_xml_and_xmlschema", "query_to_xmlschema", "schema_to_xml", "sleep",
		"source_pos_wait", "sp_oacreate", "sp_oamethod", "sys_eval", "sys_exec", "wait_for_executed_gtid_set",
		"wait_until_sql_thread_after_gtids", "xp_cmdshell", "xp_dirtree", "xp_fileexist", "xp_regread", "xp_regwrite",
	}
}

// windowed reports whether a window follows a call, which then returns a value per row.
func (r *Reader) windowed(k int) bool {
	for r.wordAt(k) == wFilter && r.kindAt(k+1) == openParen || r.wordIs(k, "within", "respect", "ignore", "nulls") {
		if r.wordAt(k) == wFilter {
			k = r.skip(k + 1)
			continue
		}
		k++
		if r.wordAt(k) == wGroup && r.kindAt(k+1) == openParen {
			k = r.skip(k + 1)
		}
	}
	return r.wordAt(k) == wOver
}

// denied measures a denied call. what names it if no function does.
func (r *Reader) denied(k int, what string) {
	m := r.add(cost.DeniedFunction, 1, k, "function")
	if r.o.Explain {
		if what == "" {
			what = r.excerpt(k, k+1) + "()"
		}
		m.Path, m.Detail = what, "waits, reads files, or runs what the guard does not see"
	}
}
