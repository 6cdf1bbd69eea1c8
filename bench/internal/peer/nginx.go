package peer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

const nginxConf = `%[1]sworker_processes 1;
pid nginx.pid;
error_log stderr emerg;
events { worker_connections 4096; }
http {
	access_log off;
	keepalive_requests 1000000;
	client_body_buffer_size 128k;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	upstream workers {
%[3]s		keepalive 128;
		keepalive_requests 1000000;
	}
	server {
		listen %[2]s backlog=1024;
%[5]s		location / {
%[4]s		}
	}
}
`

// Extra is what a configuration says beyond the least. The zero value is stock.
type Extra struct {
	Directives []string // of nginx's location or HAProxy's backend
	Server     string   // behind each server's address, such as "max_fails=0"
	Wire       Wire
}

// nginxWire returns what follows the address to listen on, and the lines of the
// server and of its location.
func (b *Bench) nginxWire(w Wire) (listen string, server, location []string, err error) {
	location = []string{"proxy_pass http://workers", "proxy_http_version 1.1", `proxy_set_header Connection ""`}
	if w.Upgrade {
		location = append(location[:2], "proxy_set_header Upgrade $http_upgrade", `proxy_set_header Connection "upgrade"`)
	}
	if w.GRPC {
		listen, location = " http2", []string{"grpc_pass grpc://workers"}
	}
	if w.TLS {
		p, err := b.certificate()
		if err != nil {
			return "", nil, nil, err
		}
		listen += " ssl"
		server = []string{"ssl_certificate " + p.cert, "ssl_certificate_key " + p.key}
	}
	return listen, server, location, nil
}

// Nginx runs nginx.
func (b *Bench) Nginx(ctx context.Context, workers []string, x Extra) (*Proxy, error) {
	bin, err := find("nginx")
	if err != nil {
		return nil, err
	}
	addrs, dir, err := b.place("nginx")
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n" // whoever owns the folder that it keeps its files in
	}
	listen, server, location, err := b.nginxWire(x.Wire)
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf(nginxConf, user, addr+listen,
		lines("\t\tserver %s "+x.Server+";\n", workers), lines("\t\t\t%s;\n", append(location, x.Directives...)),
		lines("\t\t%s;\n", server))
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	return b.start(ctx, addr, x.Wire, proc.Spec{
		Name: "nginx", Dir: dir,
		Args: []string{bin, "-e", "stderr", "-p", dir, "-c", file, "-g", "daemon off;"},
	})
}

// place picks an address for callers and one for operators, and makes a folder
// for a proxy.
func (b *Bench) place(name string) (addrs []string, dir string, err error) {
	if addrs, err = proc.FreeAddrs(2); err != nil {
		return nil, "", err
	}
	if dir, err = os.MkdirTemp(b.dir, name+"-"); err != nil {
		return nil, "", fmt.Errorf("make a folder for %s: %w", name, err)
	}
	return addrs, dir, nil
}

func lines(format string, items []string) string {
	var text strings.Builder
	for _, item := range items {
		fmt.Fprintf(&text, format, item)
	}
	return text.String()
}
