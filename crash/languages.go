package crash

// languages is the table. When two entries read a trace at the same line the
// earlier one wins.
func languages() []language {
	return []language{
		sanitizer(),
		golang(),
		php(),
		ruby(),
		python(),
		perl(),
		lua(),
		rlang(),
		java(),
		node(),
		dotnet(),
		rust(),
		native(),
		sql(),
		shell(),
	}
}
