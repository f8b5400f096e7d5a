// Package endpoint has the HTTPS endpoint of kubelets, by which "kubectl logs", exec, attach and port-forward reach
// containers. What containers that pretend answer is in annotations of their pods, which stages may write, or else in
// kwok's objects (see package answers).
//
// The endpoint has no port: [Endpoint.Dial] connects to it in the process.
package endpoint

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/answers"
)

const (
	// idleTimeout is the time after which a session without data ends, as that of a kubelet.
	idleTimeout = 4 * time.Hour
	// headerTimeout limits the time for the header of a request.
	headerTimeout = 30 * time.Second
)

// Pods knows the pods of the kubelets.
type Pods interface {
	Runtime
	// Pod returns a pod as the kubelets have seen it. Fresh returns it as the server has it.
	Pod(namespace, name string) (*corev1.Pod, bool)
	Fresh(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// Wait waits until the predicate holds. It is called again after each change of a pod.
	Wait(ctx context.Context, predicate func() bool) error
}

// Runtime knows the containers that run.
type Runtime interface {
	// Process returns a container that runs, or false if it pretends to run.
	Process(pod types.UID, container string) (Process, bool)
	// Dial connects to a port of a pod. It returns false if the pod only pretends to run.
	Dial(ctx context.Context, pod types.UID, port int32) (net.Conn, bool, error)
}

// Process is a container that runs.
type Process interface {
	// Logs writes a log. If the options say so, it follows the log until ctx ends.
	Logs(ctx context.Context, w io.Writer, options *corev1.PodLogOptions) error
	// Exec runs a command in the container.
	Exec(ctx context.Context, command []string, streams Streams) error
	// Attach connects a client with the container. It ends with the container, with the input, or with ctx.
	Attach(ctx context.Context, streams Streams) error
}

// Streams are the streams of a client. Those that it hasn't asked for are nil.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY asks for a terminal, and Sizes has its sizes.
	TTY   bool
	Sizes <-chan remotecommand.TerminalSize
}

// Endpoint is the endpoint of the kubelets of a server. It starts when the first connection is made.
type Endpoint struct {
	life    context.Context
	run     func(func())
	pods    Pods
	answers *answers.Set

	start func() (*pipes, error)
}

// New returns an endpoint, which ends with life. The function run runs a function in a goroutine.
func New(life context.Context, run func(func()), pods Pods, answered *answers.Set) *Endpoint {
	e := &Endpoint{life: life, run: run, pods: pods, answers: answered}
	e.start = sync.OnceValues(e.listen)
	return e
}

// Dial connects to the endpoint.
func (e *Endpoint) Dial(ctx context.Context) (net.Conn, error) {
	listener, err := e.start()
	if err != nil {
		return nil, err
	}
	return listener.dial(ctx)
}

func (e *Endpoint) listen() (*pipes, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener := newPipes()
	server := &http.Server{
		Handler: e.Handler(), ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return e.life },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	context.AfterFunc(e.life, func() { _ = server.Close() })
	e.run(func() { _ = server.ServeTLS(listener, "", "") }) // the error says that the server is closed
	return listener, nil
}

// newCertificate returns a certificate that signs itself. No other process can answer in place of the endpoint.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(10, 0, 0), DNSNames: []string{"kubelet"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Handler serves the paths of a kubelet.
func (e *Endpoint) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", e.logs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", e.session(func(w http.ResponseWriter, r *http.Request, s session, o *remotecommand.Options) {
		remotecommand.ServeExec(w, r, s, s.pod.Name, "", s.name, r.URL.Query()["command"], o, idleTimeout, remotecommand.DefaultStreamCreationTimeout, protocols)
	}))
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", e.session(func(w http.ResponseWriter, r *http.Request, s session, o *remotecommand.Options) {
		remotecommand.ServeAttach(w, r, s, s.pod.Name, "", s.name, o, idleTimeout, remotecommand.DefaultStreamCreationTimeout, protocols)
	}))
	mux.HandleFunc("/portForward/{namespace}/{pod}", e.forward)
	return mux
}

// protocols are the versions of the protocol of exec and attach over SPDY, the best one first.
var protocols = []string{
	remotecommand.StreamProtocolV4Name, remotecommand.StreamProtocolV3Name, remotecommand.StreamProtocolV2Name, remotecommand.StreamProtocolV1Name,
}

// session returns a handler that serves a session with a container that runs.
func (e *Endpoint) session(serve func(http.ResponseWriter, *http.Request, session, *remotecommand.Options)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := e.container(r)
		if err == nil && c.status.State.Running == nil {
			err = errors.New("container not found (\"" + c.name + "\")")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		serve(w, r, session{c, e}, options)
	}
}

func (e *Endpoint) forward(w http.ResponseWriter, r *http.Request) {
	pod, ok := e.pods.Pod(r.PathValue("namespace"), r.PathValue("pod"))
	if !ok {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{pod, e}, pod.Name, "", options, idleTimeout, remotecommand.DefaultStreamCreationTimeout,
		[]string{portforward.ProtocolV1Name})
}
