package crash

// languages is the table. When two entries read a trace at the same line the
// earlier one wins.
func languages() []language {
	return []language{
		sanitizer(),
		golang(),
		python(),
		java(),
		node(),
		dotnet(),
		rust(),
		native(),
		sql(),
		shell(),
		build(),
		makefile(),
	}
}
