package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
)

// signed makes an SQS call that is signed as AWS SDKs do (Signature Version 4,
// in the Authorization header).
func signed(t *testing.T, endpoint, id, secret, action, body string, at time.Time) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	stamp := at.UTC().Format("20060102T150405Z")
	scope := stamp[:8] + "/eu-west-1/sqs/aws4_request"
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	digest := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	names := "content-type;host;x-amz-date;x-amz-target"
	canonical := strings.Join([]string{
		"POST", "/", "", "content-type:application/x-amz-json-1.0", "host:" + req.Host, "x-amz-date:" + stamp, "x-amz-target:AmazonSQS." + action, "", names, digest(body),
	}, "\n")
	key := []byte("AWS4" + secret)
	mac := func(key []byte, s string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(s))
		return h.Sum(nil)
	}
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+digest(canonical)))
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", id, scope, names, signature))
	return req
}

// With access keys, who has none gets nowhere.
func TestAccessKeys(t *testing.T) {
	t.Setenv("BEZOAR_APP_TEST_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+"queues:\n  jobs: {}\naccess_keys:\n  AKIAONE: {secret_env: BEZOAR_APP_TEST_KEY}\n  AKIATWO: another-secret-of-theirs\n")
	do := func(req *http.Request) (int, string) {
		res, err := n.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	one, two, now := "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "another-secret-of-theirs", time.Now()
	body := fmt.Sprintf(`{"QueueUrl":%q,"MessageBody":"hello"}`, n.queueURL("jobs"))
	unsigned := signed(t, n.sqs, "AKIAONE", one, "SendMessage", body, now)
	unsigned.Header.Del("Authorization")
	changed := signed(t, n.sqs, "AKIAONE", one, "SendMessage", body, now)
	changed.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "hello", "hallo", 1)))
	other := signed(t, n.sqs, "AKIAONE", one, "ReceiveMessage", body, now)
	other.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue")
	for name, tt := range map[string]struct {
		req    *http.Request
		status int
		want   string
	}{
		"first key":      {signed(t, n.sqs, "AKIAONE", one, "SendMessage", body, now), 200, "MessageId"},
		"second key":     {signed(t, n.sqs, "AKIATWO", two, "SendMessage", body, now), 200, "MessageId"},
		"crossed keys":   {signed(t, n.sqs, "AKIAONE", two, "SendMessage", body, now), 403, "SignatureDoesNotMatch"},
		"unknown key":    {signed(t, n.sqs, "AKIANONE", one, "SendMessage", body, now), 403, "InvalidClientTokenId"},
		"unsigned":       {unsigned, 403, "MissingAuthenticationToken"},
		"changed body":   {changed, 403, "SignatureDoesNotMatch"},
		"another action": {other, 403, "SignatureDoesNotMatch"},
		"an hour old":    {signed(t, n.sqs, "AKIAONE", one, "SendMessage", body, now.Add(-time.Hour)), 400, "Expired"},
		"an hour early":  {signed(t, n.sqs, "AKIAONE", one, "SendMessage", body, now.Add(time.Hour)), 400, "Expired"},
	} {
		status, text := do(tt.req)
		if status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", name, status, text, tt.status, tt.want)
		}
		if strings.Contains(text, one) || strings.Contains(text, two) {
			t.Errorf("%s: the answer tells a secret", name)
		}
	}
	if q := n.queue("jobs"); q.Visible != 2 {
		t.Errorf("%d messages are in the queue, want the 2 of who had keys", q.Visible)
	}
}

// Settings know the actions of the endpoint, all of them and no others.
func TestSettingsKnowTheActions(t *testing.T) {
	if diff := cmp.Diff(sqs.Actions(), config.Actions()); diff != "" {
		t.Errorf("the endpoint's and those of the settings (-, +):\n%s", diff)
	}
}
