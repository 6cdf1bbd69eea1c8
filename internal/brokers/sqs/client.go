package sqs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bezoar-dev/bezoar/internal/brokers"
)

// ErrURL is the error for a text that is not the URL of a queue.
var ErrURL = errors.New("it is not a URL of a queue, such as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME")

// NewClient returns a client for the queue at a URL. endpoint is the address of the
// service; "" means the URL's host, unless it is AWS. Credentials and the region are found
// as in AWS's own tools; a queue on this machine needs none.
func NewClient(ctx context.Context, queue, endpoint string, getenv func(string) string) (*sqs.Client, error) {
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") == "" {
		return nil, ErrURL
	}
	region, isAWS := regionOf(u.Hostname())
	if endpoint == "" && !isAWS {
		endpoint = u.Scheme + "://" + u.Host
	}
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithDefaultRegion("us-east-1")}
	if region != "" && getenv("AWS_REGION") == "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if !isAWS && brokers.IsLoopback(u.Host) && !hasKeys(getenv) {
		options = append(options, awsconfig.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	transport.IdleConnTimeout = 5 * time.Minute
	return sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	}), nil
}

// regionOf extracts the region from the name of an AWS host.
func regionOf(host string) (region string, isAWS bool) {
	if !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn") {
		return "", false
	}
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-1] {
		if (label == "sqs" || label == "sqs-fips") && labels[i+1] != "amazonaws" {
			return labels[i+1], true
		}
	}
	return "", true
}

// hasKeys reports whether the environment contains credentials.
func hasKeys(getenv func(string) string) bool {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if getenv(name) != "" {
			return true
		}
	}
	return false
}
