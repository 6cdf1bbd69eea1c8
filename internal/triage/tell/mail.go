package tell

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

const (
	mailTimeout = 30 * time.Second // of one attempt
	maxSubject  = 200              // bytes
	maxMail     = 256 << 10        // bytes of a text
)

// Server is where mail is sent from.
type Server struct {
	Address  string // host:port
	From     string // an address
	User     string // "": no login
	Password Secret
	TLS      bool // from the first byte, as on port 465; else STARTTLS where the server offers it
}

func (s Server) Validate() error {
	var errs faults.List
	if _, _, err := net.SplitHostPort(s.Address); err != nil {
		errs = append(errs, fmt.Errorf("Address: want host:port: %w", err))
	}
	if _, err := mail.ParseAddress(s.From); err != nil {
		errs = append(errs, fmt.Errorf("From %.100q: want an address: %w", s.From, err))
	}
	errs.If(s.User == "" && s.Password != "", "Password: is given without User")
	return errors.Join(errs...)
}

// Message is one mail.
type Message struct {
	ID      string // the same each time that it is tried
	To      string
	Subject string
	Text    string
}

// Mail sends a mail. It tries again what a server refuses for now.
func (t *Teller) Mail(ctx context.Context, m Message) error {
	if err := t.c.Mail.Validate(); err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	from, err := mail.ParseAddress(t.c.Mail.From)
	if err != nil {
		return err
	}
	to, err := mail.ParseAddress(m.To)
	if err != nil {
		return fmt.Errorf("mail to %.100q: %w", m.To, err)
	}
	data := compose(m, from, to, t.c.Now())
	waits := backoff.Config{Base: postBase, Cap: postCap}
	for try := 1; ; try++ {
		err := t.mailOnce(ctx, from.Address, to.Address, data)
		if err == nil {
			return nil
		}
		refused, answered := errors.AsType[*textproto.Error](err)
		if answered && refused.Code/100 == 5 || errors.Is(err, errNoTLS) || try == Tries {
			return fmt.Errorf("mail by %s, try %d: %w", t.c.Mail.Address, try, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("mail by %s, try %d: %w", t.c.Mail.Address, try, ctx.Err())
		case <-time.After(waits.Wait(try, rand.Float64())):
		}
	}
}

var errNoTLS = errors.New("the server offers no TLS, and a password is not sent without it")

func (t *Teller) mailOnce(ctx context.Context, from, to string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	server := t.c.Mail
	host, _, err := net.SplitHostPort(server.Address)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	wire := conn
	if server.TLS {
		wire = tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	}
	c, err := smtp.NewClient(wire, host)
	if err != nil {
		return err
	}
	if err := greet(c, server, host); err != nil {
		return err
	}
	if err := c.Mail(from); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the server has taken the mail
	return nil
}

// greet says who we are, turns TLS on where it can, and logs in.
func greet(c *smtp.Client, server Server, host string) error {
	name, err := os.Hostname()
	if err != nil || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		name = "localhost"
	}
	if err := c.Hello(name); err != nil {
		return err
	}
	if ok, _ := c.Extension("STARTTLS"); ok && !server.TLS {
		if err := c.StartTLS(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	}
	if server.User == "" {
		return nil
	}
	_, secure := c.TLSConnectionState()
	if ip := net.ParseIP(host); !secure && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errNoTLS
	}
	return c.Auth(smtp.PlainAuth("", server.User, string(server.Password), host))
}

// compose writes the message. Header lines hold no line breaks whatever m says,
// and the text is base64, which no dot or length can break.
func compose(m Message, from, to *mail.Address, now time.Time) []byte {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	_, domain, _ := strings.Cut(from.Address, "@")
	header("From", from.String())
	header("To", to.String())
	header("Subject", mime.QEncoding.Encode("utf-8", cmp.Or(clip(line(m.Subject), maxSubject), "(no subject)")))
	header("Date", now.Format(time.RFC1123Z))
	if id := token(m.ID); id != "" {
		header("Message-ID", "<"+id+"@"+token(domain)+">")
	}
	header("Auto-Submitted", "auto-generated") // no vacation answers
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "base64")
	b.WriteString("\r\n")
	text := strings.ToValidUTF8(clip(m.Text, maxMail), "\uFFFD")
	encoded := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
	for len(encoded) > 0 {
		n := min(len(encoded), 76)
		b.WriteString(encoded[:n] + "\r\n")
		encoded = encoded[n:]
	}
	return b.Bytes()
}

func line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s))
}

// token keeps what a Message-ID may hold.
func token(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return -1
	}, s)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
