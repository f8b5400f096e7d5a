package main

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// way is a way to a server that a test can cut.
type way struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newWay returns a way to an address. The way ends with the test.
func newWay(t *testing.T, to string) *way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{Listener: listener, to: to}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		w.set(true)
	})
	return w
}

// pass copies the bytes of a connection in both directions.
func (w *way) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()
	w.mu.Lock()
	cut := w.cut
	w.conns = append(w.conns, from, to)
	w.mu.Unlock()
	if cut {
		return
	}
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// set cuts the way, or opens it again.
func (w *way) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, conn := range w.conns {
			_ = conn.Close()
		}
		w.conns = nil
	}
}

// While the cluster is away, the server refuses requests and says that it isn't ready. When the cluster is back, the server
// goes on by itself.
func TestClusterAway(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t)
	host, err := url.Parse(front.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	toFront := newWay(t, host.Host)
	through := front.Config()
	through.Host = "https://" + toFront.Addr().String()
	content, err := front.Kubeconfig(through)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--behind="+kubeconfig, "--authorization-webhook-cache-authorized-ttl=1ms")
	direct := front.AddUser("direct")
	direct.Host, direct.CAData = s.AdminConfig().Host, s.AdminConfig().CAData
	flunders := dynamic.NewForConfigOrDie(direct).Resource(v1beta1.WithResource("flunders"))
	grant(t, front, "direct")
	eventually(t, "the user may list flunders", func() bool {
		_, err := flunders.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})

	toFront.set(true)
	if _, err := flunders.List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a request is answered without the authorization of the cluster")
	}
	if status, body := readyz(t, s.OwnConfig()); status || !strings.Contains(body, "[-]cluster failed") {
		t.Errorf("readiness without the cluster: %v %s", status, body)
	}

	toFront.set(false)
	eventually(t, "the server goes on", func() bool {
		_, err := flunders.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	if status, body := readyz(t, s.OwnConfig()); !status {
		t.Errorf("readiness with the cluster: %s", body)
	}
}

// readyz returns whether a server is ready, and its checks.
func readyz(t *testing.T, config *rest.Config) (ready bool, body string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").Do(t.Context()).Raw()
	return err == nil, string(answer)
}
