package crash

import "sync"

// languages returns the table, which is made once. When two entries read a trace at
// the same line the earlier one wins.
var languages = sync.OnceValue(func() []language {
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
})
