package round

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func (r *round) wrongSecret() error {
	_, err := r.client(r.key, r.secret+"x").ListQueues(r.ctx, &sqs.ListQueuesInput{})
	return wantCode(err, "SignatureDoesNotMatch", "InvalidSignatureException")
}

func (r *round) unknownKey() error {
	_, err := r.client("NOBODY", r.secret).ListQueues(r.ctx, &sqs.ListQueuesInput{})
	return wantCode(err, "InvalidClientTokenId")
}

func (r *round) unsigned() error {
	status, body, err := r.get(r.endpoint + "/?Action=ListQueues&Version=2012-11-05")
	if err != nil {
		return err
	}
	if status != 403 || !strings.Contains(body, "<Code>MissingAuthenticationToken</Code>") {
		return fmt.Errorf("status %d: %.300s", status, body)
	}
	return nil
}

// get asks without the SDK.
func (r *round) get(url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

func (r *round) presigned() error {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.endpoint+"/?Action=ListQueues&Version=2012-11-05&X-Amz-Expires=60", nil)
	if err != nil {
		return err
	}
	empty := sha256.Sum256(nil)
	url, _, err := v4.NewSigner().PresignHTTP(r.ctx, aws.Credentials{AccessKeyID: r.key, SecretAccessKey: r.secret}, req,
		hex.EncodeToString(empty[:]), "sqs", "us-east-1", time.Now())
	if err != nil {
		return err
	}
	for _, tt := range []struct {
		url    string
		status int
	}{
		{url, 200},
		{strings.Replace(url, "X-Amz-Expires=60", "X-Amz-Expires=600", 1), 403},
		{strings.Replace(url, "Action=ListQueues", "Action=PurgeQueue", 1), 403},
	} {
		status, body, err := r.get(tt.url)
		if err != nil {
			return err
		}
		if status != tt.status {
			return fmt.Errorf("%s: status %d, want %d: %.300s", tt.url, status, tt.status, body)
		}
	}
	return nil
}
