package webhook

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Modes of a webhook; see the package comment.
const (
	Binary     = "binary"
	Structured = "structured"
	Batched    = "batched"
)

// Defaults and limits of a Config.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultParallel = 16
	DefaultBatch    = 100
)

const (
	maxParallel = 1000
	maxBatch    = 1000
	maxSecret   = 4 << 10 // bytes in a file
	minKey      = 16      // bytes
)

// Config configures a webhook. URL and Source are required.
type Config struct {
	URL    *url.URL
	Source string // CloudEvents source
	Mode   string // default binary
	// Keys sign each request, each with its own signature, so that keys can be rotated.
	// Without keys, requests are unsigned.
	Keys     [][]byte
	Token    string        // for Authorization: Bearer; empty: no header
	Timeout  time.Duration // time limit of a request, 1 ms to 1 h; default 30 s
	Parallel int           // concurrent requests; default 16
	Batch    int           // events per request in batched mode; default 100
}

// FromURL parses http://HOST/PATH?QUERY#PARAMETERS or https://. Requests go to the part
// before #. The parameters are mode, secret_env, secret_file, token_env, timeout, parallel
// and batch.
func FromURL(text string, getenv func(string) string) (c Config, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return c, errors.New("the URL is malformed") // url.Parse's error contains the URL
	}
	params, err := url.ParseQuery(u.EscapedFragment())
	if err != nil {
		return c, errors.New("the parameters after # are malformed")
	}
	u.Fragment, u.RawFragment = "", ""
	c.URL = u
	var errs []error
	for name, values := range params {
		if err := c.set(name, values[len(values)-1], getenv); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return c, errors.Join(errs...)
	}
	return c, nil
}

func (c *Config) set(name, value string, getenv func(string) string) (err error) {
	switch name {
	case "mode":
		c.Mode = value
	case "secret_env":
		err = c.addKeys(getenv(value), "secret_env: the variable "+value)
	case "secret_file":
		var text string
		if text, err = readFile(value); err == nil {
			err = c.addKeys(text, "secret_file: "+value)
		}
	case "token_env":
		if c.Token = strings.TrimSpace(getenv(value)); c.Token == "" {
			err = fmt.Errorf("token_env: the variable %.100s is empty", value)
		}
	case "timeout":
		if c.Timeout, err = time.ParseDuration(value); err != nil {
			err = fmt.Errorf("timeout=%.100s is not a duration such as 30s", value)
		}
	case "parallel":
		c.Parallel, err = count(name, value)
	case "batch":
		c.Batch, err = count(name, value)
	default:
		err = fmt.Errorf("there is no parameter %.100s; known are batch, mode, parallel, secret_env, secret_file, timeout, token_env", name)
	}
	return err
}

func count(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%.100s is not a number of 1 or more", name, value)
	}
	return n, nil
}

func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("secret_file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", fmt.Errorf("secret_file: %w", err)
	}
	return string(text), nil
}

// addKeys parses secrets separated by spaces. A secret with the prefix whsec_ is in base64,
// as in Standard Webhooks; any other secret is used as it is.
func (c *Config) addKeys(text, from string) error {
	for secret := range strings.FieldsSeq(text) {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return fmt.Errorf("%.200s: want base64 after whsec_", from)
			}
		}
		if len(key) < minKey {
			return fmt.Errorf("%.200s: a secret has fewer than %d bytes", from, minKey)
		}
		c.Keys = append(c.Keys, key)
	}
	if len(c.Keys) == 0 {
		return fmt.Errorf("%.200s has no secret", from)
	}
	return nil
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(c.URL == nil || c.URL.Host == "" || c.URL.Scheme != "http" && c.URL.Scheme != "https", "URL: want http:// or https:// with a host")
	errs.If(c.Source == "", "Source: missing")
	errs.If(c.Mode != Binary && c.Mode != Structured && c.Mode != Batched, "mode: %.100q is not one of %s, %s and %s", c.Mode, Binary, Structured, Batched)
	errs.If(c.Timeout < time.Millisecond || c.Timeout > time.Hour, "timeout: %v is not between 1ms and 1h", c.Timeout)
	errs.If(c.Parallel < 1 || c.Parallel > maxParallel, "parallel: %d is not between 1 and %d", c.Parallel, maxParallel)
	errs.If(c.Batch < 1 || c.Batch > maxBatch, "batch: %d is not between 1 and %d", c.Batch, maxBatch)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Mode = cmp.Or(c.Mode, Binary)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Parallel = cmp.Or(c.Parallel, DefaultParallel)
	c.Batch = cmp.Or(c.Batch, DefaultBatch)
	return c
}
