package tell

import "strings"

// The variables that say how pages of flows are sent.
const (
	AddressVar  = "BEZOAR_SMTP"
	FromVar     = "BEZOAR_SMTP_FROM"
	UserVar     = "BEZOAR_SMTP_USER"
	PasswordVar = "BEZOAR_SMTP_PASSWORD"
	SignVar     = "BEZOAR_FLOW_SECRET"
)

// ServerFrom reads where mail is sent from out of an environment. Port 465 means
// TLS from the first byte.
func ServerFrom(getenv func(string) string) Server {
	s := Server{Address: getenv(AddressVar), From: getenv(FromVar), User: getenv(UserVar), Password: Secret(getenv(PasswordVar))}
	s.TLS = strings.HasSuffix(s.Address, ":465")
	return s
}

// SecretFrom reads what signs pages by webhook.
func SecretFrom(getenv func(string) string) Secret { return Secret(getenv(SignVar)) }

// SecretVars are the variables that no command may see.
func SecretVars() []string { return []string{PasswordVar, SignVar} }
