// Command runtime-extension is an example of a runtime extension for Cluster API. It refuses the creation of Clusters
// with too many workers, and delays the deletion of Clusters until they have a backup. The following commands start a
// server with the configuration of the extension, issue a certificate, start the extension, and call one of its hooks:
//
//	miniapi serve --runtime-hooks --data-dir data --apply examples/runtime-extension/config \
//	 --webhook-service quota-system/quota-extension=127.0.0.1:9443
//	miniapi cert quota-system/quota-extension --dir certs
//	go run ./examples/runtime-extension --certs certs --port 9443
//	miniapi hooks call BeforeClusterCreate -f examples/runtime-extension/cluster.yaml
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

func main() {
	certs := flag.String("certs", "certs", "the folder with tls.crt and tls.key")
	port := flag.Int("port", 9443, "the port on 127.0.0.1; 0 takes a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *certs, *port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, certs string, port int) error {
	handler, err := newExtension()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	fmt.Println("listening on", listener.Addr())
	return extension.Serve(ctx, listener, handler, extension.TLS{
		CertFile: filepath.Join(certs, "tls.crt"), KeyFile: filepath.Join(certs, "tls.key"),
	})
}
