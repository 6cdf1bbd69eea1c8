package sqs

type operation struct {
	run     func(*call) error // performs it and encodes the members of the answer
	queue   bool              // it needs an existing queue
	answers bool              // its answer has members
	waits   bool              // it may wait for messages
	ends    bool              // it may end deliveries: only workers do so
}

// operations returns all operations by name, for both protocols.
func operations() map[string]operation {
	return map[string]operation{
		"AddPermission":                {run: (*call).addPermission, queue: true},
		"CancelMessageMoveTask":        {run: (*call).cancelMove, answers: true},
		"ChangeMessageVisibility":      {run: (*call).changeVisibility, queue: true, ends: true},
		"ChangeMessageVisibilityBatch": {run: (*call).changeVisibilityBatch, queue: true, answers: true, ends: true},
		"CreateQueue":                  {run: (*call).createQueue, answers: true},
		"DeleteMessage":                {run: (*call).deleteMessage, queue: true, ends: true},
		"DeleteMessageBatch":           {run: (*call).deleteMessageBatch, queue: true, answers: true, ends: true},
		"DeleteQueue":                  {run: (*call).deleteQueue, queue: true},
		"GetQueueAttributes":           {run: (*call).getAttributes, queue: true, answers: true},
		"GetQueueUrl":                  {run: (*call).getURL, answers: true},
		"ListDeadLetterSourceQueues":   {run: (*call).listSources, queue: true, answers: true},
		"ListMessageMoveTasks":         {run: (*call).listMoves, answers: true},
		"ListQueueTags":                {run: (*call).listTags, queue: true, answers: true},
		"ListQueues":                   {run: (*call).listQueues, answers: true},
		"PurgeQueue":                   {run: (*call).purge, queue: true},
		"ReceiveMessage":               {run: (*call).receive, queue: true, answers: true, waits: true},
		"RemovePermission":             {run: (*call).removePermission, queue: true},
		"SendMessage":                  {run: (*call).sendMessage, queue: true, answers: true},
		"SendMessageBatch":             {run: (*call).sendMessageBatch, queue: true, answers: true},
		"SetQueueAttributes":           {run: (*call).setAttributes, queue: true},
		"StartMessageMoveTask":         {run: (*call).startMove, answers: true},
		"TagQueue":                     {run: (*call).tag, queue: true},
		"UntagQueue":                   {run: (*call).untag, queue: true},
	}
}
