package sigv4_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sigv4"
)

// vector is one of AWS's published examples: a request, and the signature that
// it must have with the published key, at 2015-08-30 12:36:00, for the service
// "service" in us-east-1.
type vector struct {
	name      string
	method    string
	target    string
	headers   []string // beside Host and X-Amz-Date; a leading blank folds a line
	body      string
	signed    string
	signature string
}

const (
	exampleKey    = "AKIDEXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	vanilla       = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	posted        = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
)

var exampleTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)

func vectors() []vector {
	const plain = "host;x-amz-date"
	form := []string{"Content-Type:application/x-www-form-urlencoded"}
	return []vector{
		{"vanilla", "GET", "/", nil, "", plain, vanilla},
		{"empty query", "GET", "/?", nil, "", plain, vanilla},
		{"one dot-dot", "GET", "/example/..", nil, "", plain, vanilla},
		{"two dot-dots", "GET", "/example1/example2/../..", nil, "", plain, vanilla},
		{"two slashes", "GET", "//", nil, "", plain, vanilla},
		{"dot", "GET", "/./", nil, "", plain, vanilla},
		{"dot before a folder", "GET", "/./example", nil, "", plain, "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
		{"slashes around a folder", "GET", "//example//", nil, "", plain, "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
		{"blank in the path", "GET", "/example space/", nil, "", plain, "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
		{"unreserved path", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", nil, "", plain, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
		{"UTF-8 path", "GET", "/ሴ", nil, "", plain, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
		{"empty parameter", "GET", "/?Param1=value1", nil, "", plain, "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
		{"parameters sorted by name", "GET", "/?Param2=value2&Param1=value1", nil, "", plain, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"parameters sorted by value", "GET", "/?Param1=value2&Param1=Value1", nil, "", plain, "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
		{"parameters sorted already", "GET", "/?Param1=Value1&Param1=value2", nil, "", plain, "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
		{
			"unreserved parameter", "GET",
			"/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
			nil, "", plain, "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
		},
		{"UTF-8 parameter", "GET", "/?ሴ=bar", nil, "", plain, "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
		{"one header twice", "GET", "/", []string{"My-Header1:value2", "My-Header1:value2", "My-Header1:value1"}, "", "host;my-header1;x-amz-date", "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
		{"header values in their order", "GET", "/", []string{"My-Header1:value4", "My-Header1:value1", "My-Header1:value3", "My-Header1:value2"}, "", "host;my-header1;x-amz-date", "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
		{"blanks in headers", "GET", "/", []string{"My-Header1: value1", `My-Header2: "a   b   c"`}, "", "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
		{"folded header", "GET", "/", []string{"My-Header1:value1", "  value2", "     value3"}, "", "host;my-header1;x-amz-date", "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
		{"POST", "POST", "/", nil, "", plain, posted},
		{"POST with a header that is not signed", "POST", "/", []string{"My-Header1:value1"}, "", plain, posted},
		{"POST with a header in upper case", "POST", "/", []string{"My-Header1:value1"}, "", "host;my-header1;x-amz-date", "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
		{"POST with a value in upper case", "POST", "/", []string{"My-Header1:VALUE1"}, "", "host;my-header1;x-amz-date", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
		{"POST with a parameter", "POST", "/?Param1=value1", nil, "", plain, "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
		{"POST of a form", "POST", "/", form, "Param1=value1", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		{
			"POST of a form with a character set", "POST", "/",
			[]string{"Content-Type:application/x-www-form-urlencoded; charset=utf8"},
			"Param1=value1", "content-type;host;x-amz-date", "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
		},
	}
}

// parse makes of the vector what a server makes of the bytes on the wire.
func (v vector) parse(t *testing.T) *http.Request {
	t.Helper()
	onWire := strings.ReplaceAll(v.target, " ", "%20") // no server takes a blank there
	lines := append([]string{
		v.method + " " + onWire + " HTTP/1.1", "Host:example.amazonaws.com",
	}, v.headers...)
	lines = append(lines, "X-Amz-Date:20150830T123600Z",
		"Authorization: AWS4-HMAC-SHA256 Credential="+exampleKey+"/20150830/us-east-1/service/aws4_request, SignedHeaders="+v.signed+", Signature="+v.signature,
		"", "")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n"))))
	if err != nil {
		t.Fatal(err)
	}
	r.RequestURI = v.target
	return r
}

func exampleVerifier(t *testing.T) *sigv4.Verifier {
	t.Helper()
	v, err := sigv4.New(sigv4.Config{Service: "service", Keys: map[string]sigv4.Secret{exampleKey: exampleSecret}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAWSsExamplesVerify(t *testing.T) {
	v := exampleVerifier(t)
	for _, tt := range vectors() {
		t.Run(tt.name, func(t *testing.T) {
			if err := v.Verify(tt.parse(t), []byte(tt.body), exampleTime); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is verified is also compared: each example fails once one digit of its
// signature, its method, its body or its Host is another.
func TestAWSsExamplesFailWhenChanged(t *testing.T) {
	v := exampleVerifier(t)
	changes := map[string]func(r *http.Request, body *string){
		"signature": func(r *http.Request, _ *string) {
			a := []byte(r.Header.Get("Authorization"))
			last := &a[len(a)-1]
			if *last == '0' {
				*last = '1'
			} else {
				*last = '0'
			}
			r.Header.Set("Authorization", string(a))
		},
		"method": func(r *http.Request, _ *string) { r.Method = "PUT" },
		"body":   func(_ *http.Request, body *string) { *body += "x" },
		"host":   func(r *http.Request, _ *string) { r.Host = "example.org" },
		"path":   func(r *http.Request, _ *string) { r.RequestURI = "/other" + r.RequestURI },
		"query": func(r *http.Request, _ *string) {
			sign := "?"
			if strings.Contains(r.RequestURI, "?") {
				sign = "&"
			}
			r.RequestURI += sign + "more=1"
		},
	}
	for _, tt := range vectors() {
		for name, change := range changes {
			r, body := tt.parse(t), tt.body
			change(r, &body)
			if code := codeOf(t, v.Verify(r, []byte(body), exampleTime)); code != sigv4.CodeMismatch {
				t.Errorf("%s, %s changed: %q", tt.name, name, code)
			}
		}
	}
}
