package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// A worker's last words repeat what its request held. They are in the log, with the
// verdict and in the letter, and none of these shows a secret.
func TestLastWordsAreShownWithoutTheSecretsOfTheirRequest(t *testing.T) {
	t.Parallel()
	p := start(t, setup{Replicas: 2})
	header := map[string]string{"Authorization": "Bearer sesame-of-the-bearer", "Cookie": "lang=called; style=request; sid=sesame-of-the-cookie"}
	p.until("the request is refused", func() bool {
		return p.sendWith("GET", "/x?do=exit&token=sesame%2Fof-the-query", "", header).status == http.StatusServiceUnavailable && len(p.convicts()) == 1
	})
	var told strings.Builder
	tell := json.NewEncoder(&told)
	p.until("the letter is written", func() bool {
		ls, err := p.admin.Letters(t.Context(), adminapi.LetterQuery{})
		if err != nil || len(ls) == 0 {
			return false
		}
		l, err := p.admin.Letter(t.Context(), ls[0].ID)
		return err == nil && tell.Encode(l) == nil
	})
	for _, v := range p.convicts() {
		whole, err := p.admin.Verdict(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		_ = tell.Encode(whole)
	}
	_ = tell.Encode(p.fleet())
	for what, text := range map[string]string{"the log": p.log.String(), "the API": told.String()} {
		if strings.Contains(text, "sesame") {
			t.Errorf("%s shows a secret:\n%s", what, text)
		}
		if !strings.Contains(text, "a request called exit, with [redacted] and [redacted]") {
			t.Errorf("%s does not tell the last words:\n%s", what, text)
		}
	}
}
