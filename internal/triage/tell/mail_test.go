package tell

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"sync"
	"testing"
	"time"
)

// postOffice is an SMTP server that keeps what it gets.
type postOffice struct {
	address string
	extends []string // what it offers
	replies map[string][]string

	mu    sync.Mutex
	got   []string // commands
	mails []string
}

func open(t *testing.T, o *postOffice) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.address = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { o.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return o
}

// reply takes the next of the replies that are set for a command.
func (o *postOffice) reply(verb, usual string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if all := o.replies[verb]; len(all) > 0 {
		o.replies[verb] = all[1:]
		return all[0]
	}
	return usual
}

func (o *postOffice) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	fmt.Fprint(c, "220 here\r\n")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		o.mu.Lock()
		o.got = append(o.got, line)
		o.mu.Unlock()
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		switch verb {
		case "EHLO":
			for _, e := range o.extends {
				fmt.Fprintf(c, "250-%s\r\n", e)
			}
			fmt.Fprint(c, "250 OK\r\n")
		case "DATA":
			fmt.Fprint(c, "354 go on\r\n")
			var text strings.Builder
			for {
				l, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if l == ".\r\n" {
					break
				}
				text.WriteString(l)
			}
			said := o.reply("DATA", "250 taken")
			if strings.HasPrefix(said, "2") {
				o.mu.Lock()
				o.mails = append(o.mails, text.String())
				o.mu.Unlock()
			}
			fmt.Fprintf(c, "%s\r\n", said)
		case "AUTH":
			fmt.Fprintf(c, "%s\r\n", o.reply(verb, "235 welcome"))
		case "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprintf(c, "%s\r\n", o.reply(verb, "250 OK"))
		}
	}
}

func (o *postOffice) teller(s Server) *Teller {
	s.Address = o.address
	if s.From == "" {
		s.From = "Bezoar <bezoar@example.com>"
	}
	return New(Config{Mail: s, Now: func() time.Time { return time.Unix(1_800_000_000, 0).UTC() }})
}

func TestAMailArrives(t *testing.T) {
	o := open(t, &postOffice{})
	text := "first line\n.\nline after a dot\nünïcode 💎\n" + strings.Repeat("long ", 500)
	err := o.teller(Server{}).Mail(t.Context(), Message{ID: "abc-1", To: "Ops <ops@example.com>", Subject: "[bezoar] dröhnt", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.mails) != 1 {
		t.Fatalf("%d mails, want 1", len(o.mails))
	}
	m, err := mail.ReadMessage(strings.NewReader(o.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != "[bezoar] dröhnt" {
		t.Errorf("the subject is %q, %v", subject, err)
	}
	for name, want := range map[string]string{
		"To": `"Ops" <ops@example.com>`, "From": `"Bezoar" <bezoar@example.com>`, "Message-Id": "<abc-1@example.com>",
		"Content-Transfer-Encoding": "base64", "Date": "Fri, 15 Jan 2027 08:00:00 +0000", "Auto-Submitted": "auto-generated",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, m.Body))
	if err != nil || strings.ReplaceAll(string(body), "\r\n", "\n") != text {
		t.Errorf("the text is %q, %v", body, err)
	}
}

// A task's output can be in a subject and a text. It adds no header and ends no
// message.
func TestNothingIsInjected(t *testing.T) {
	for name, m := range map[string]Message{
		"subject":         {To: "a@example.com", Subject: "x\r\nBcc: evil@example.com\r\n\r\nbody", Text: "t"},
		"lone CR, LF":     {To: "a@example.com", Subject: "x\rBcc: evil@example.com\nBcc: evil@example.com", Text: "t"},
		"other separator": {To: "a@example.com", Subject: "x\u2028Bcc: evil@example.com\u0085Bcc: evil@example.com", Text: "t"},
		"id":              {ID: "1>\r\nBcc: evil@example.com", To: "a@example.com", Subject: "s", Text: "t"},
		"text":            {To: "a@example.com", Subject: "s", Text: "x\r\n.\r\nMAIL FROM:<evil@example.com>\r\n"},
		"invalid UTF-8":   {To: "a@example.com", Subject: "\xff\xfe\nBcc: evil@example.com", Text: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, &postOffice{})
			if err := o.teller(Server{}).Mail(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if len(o.mails) != 1 {
				t.Fatalf("%d mails, want 1", len(o.mails))
			}
			got, err := mail.ReadMessage(strings.NewReader(o.mails[0]))
			if err != nil {
				t.Fatal(err)
			}
			if got.Header.Get("Bcc") != "" || len(got.Header) > 9 {
				t.Errorf("the header is %v", got.Header)
			}
			for _, c := range o.got {
				if strings.Contains(c, "evil") {
					t.Errorf("the server was told %q", c)
				}
			}
		})
	}
	for _, to := range []string{"a@example.com\r\nRCPT TO:<evil@example.com>", "a@example.com, evil@example.com", "nobody"} {
		o := open(t, &postOffice{})
		if err := o.teller(Server{}).Mail(t.Context(), Message{To: to, Subject: "s"}); err == nil || len(o.mails) > 0 {
			t.Errorf("mail to %q: %v, %d mails", to, err, len(o.mails))
		}
	}
}

func TestAMailIsTriedAgainWhileTheServerIsBusy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replies map[string][]string
		mails   int
		fails   string
	}{
		"busy":      {map[string][]string{"MAIL": {"451 later"}}, 1, ""},
		"busy late": {map[string][]string{"DATA": {"452 full"}}, 1, ""},
		"refused":   {map[string][]string{"RCPT": {"550 nobody of this name"}}, 0, "550"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, &postOffice{replies: c.replies})
			err := o.teller(Server{}).Mail(t.Context(), Message{To: "a@example.com", Subject: "s", Text: "t"})
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("the error is %v", err)
			}
			if len(o.mails) != c.mails {
				t.Errorf("%d mails, want %d", len(o.mails), c.mails)
			}
		})
	}
}

func TestALogin(t *testing.T) {
	o := open(t, &postOffice{extends: []string{"AUTH PLAIN"}})
	if err := o.teller(Server{User: "bezoar", Password: "hunter2"}).Mail(t.Context(), Message{To: "a@example.com", Subject: "s"}); err != nil {
		t.Fatal(err)
	}
	want := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00bezoar\x00hunter2"))
	if !strings.Contains(strings.Join(o.got, "\n"), want) {
		t.Errorf("the server was told %q, want %q", o.got, want)
	}
	// A server elsewhere does not get the password without TLS.
	client, server := net.Pipe()
	go (&postOffice{extends: []string{"AUTH PLAIN"}}).serve(server)
	defer client.Close()
	if err := greetOver(client, Server{User: "bezoar", Password: "hunter2"}, "mail.example.com"); err == nil || !strings.Contains(err.Error(), "no TLS") {
		t.Errorf("a login without TLS: %v", err)
	}
}

func greetOver(conn net.Conn, s Server, host string) error {
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	return greet(c, s, host)
}

func TestServerValidate(t *testing.T) {
	err := Server{Address: "nowhere", From: "nobody", Password: "x"}.Validate()
	for _, want := range []string{"Address", "From", "Password"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the faults are %v, want one about %s", err, want)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", Server{Password: "hunter2"}, Server{Password: "hunter2"}, Server{Password: "hunter2"}); strings.Contains(text, "hunter2") {
		t.Errorf("the password is in %s", text)
	}
}
