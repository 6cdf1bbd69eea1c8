package flow

import "context"

func (l *loop) schedules(context.Context) error { return nil }
