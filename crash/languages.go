package crash

import "sync"

// knownLanguages is the table, made once, when it is first needed; nothing changes it.
var knownLanguages = sync.OnceValue(languages)

// languages makes the table. When two entries read a trace at the same line the
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
		kernel(),
		sql(),
		shell(),
	}
}
