package postgres

// BeginFlow begins the transactions of flows.
const BeginFlow = beginShared
