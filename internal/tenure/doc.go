// Package tenure keeps whether somebody who works at a place is to stay there,
// when whoever decides may change their mind.
//
//	           End                    Wait, to the end
//	staying ─────────► told to go ─────────────────────► gone
//	    ▲                   │
//	    └─────── Renew ─────┘
//
// The one who works looks at [Tenure.Context], which ends when they have to go,
// and finishes in [Tenure.Wait], which is cut short when they are to stay after
// all. Whether somebody who has gone is wanted again is for the caller to settle,
// under a lock of its own: [Tenure.Ending] tells.
package tenure
