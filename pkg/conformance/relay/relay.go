// Package relay carries connections out of a cluster, to a suite that no process of the cluster can connect to.
//
// A relay runs in the cluster and accepts connections there. The suite opens a link to the relay through the API
// server, and the relay passes each connection on over this link, byte by byte. The relay can't decrypt a connection:
// TLS is between the API server and the suite, and only the suite has the key. When the suite ends a connection, the
// relay ends it, too.
//
// Don't use the package to publish a service, because a relay has only one link, to one suite.
package relay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// These are the paths and headers of a relay's control port. To open a link, a suite upgrades a request for LinkPath to
// Protocol, with the token in TokenHeader. ReadyPath answers 200 as soon as the relay accepts connections.
const (
	LinkPath    = "/link"
	ReadyPath   = "/ready"
	Protocol    = "conformance-relay"
	TokenHeader = "Conformance-Relay-Token"
)

// TokenVariable is the environment variable that has the token of a relay that runs in a container.
const TokenVariable = "CONFORMANCE_RELAY_TOKEN"

// pingInterval is the time without data after which one end of a link checks that the other end still answers.
const pingInterval = 15 * time.Second

// Options are the options of a Relay.
type Options struct {
	// Address is the address at which the relay accepts the connections that it carries. ControlAddress is the address
	// at which it accepts links.
	Address, ControlAddress string
	// Token is the secret that a suite sends to open a link. Without a token, the relay doesn't start.
	Token string
}

// Relay carries connections until Close is called.
type Relay struct {
	token    string
	carried  net.Listener
	control  net.Listener
	server   *http.Server
	routines sync.WaitGroup

	mu     sync.Mutex
	link   *http.ClientConn
	closed bool
}

// Start starts a relay that listens on Options.Address and Options.ControlAddress.
func Start(ctx context.Context, o Options) (*Relay, error) {
	if o.Token == "" {
		return nil, errors.New("relay: Options.Token must be set: without a token, any client could answer webhook calls in the suite's place")
	}
	certificate, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("relay: certificate of the control port: %w", err)
	}
	var config net.ListenConfig
	carried, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("relay: address %q: %w", o.Address, err)
	}
	control, err := config.Listen(ctx, "tcp", o.ControlAddress)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("relay: control address %q: %w", o.ControlAddress, err), carried.Close())
	}
	r := &Relay{token: o.Token, carried: carried, control: control}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ReadyPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET "+LinkPath, r.accept)
	r.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		// A link is an upgraded HTTP/1.1 connection. HTTP/2 connections can't be upgraded.
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"},
			MinVersion: tls.VersionTLS12},
	}
	r.routines.Go(func() { _ = r.server.ServeTLS(control, "", "") }) // ServeTLS returns after Close
	r.routines.Go(r.carryAll)
	return r, nil
}

// Address returns the address at which the relay accepts connections to carry.
func (r *Relay) Address() net.Addr { return r.carried.Addr() }

// ControlAddress returns the address at which the relay accepts links.
func (r *Relay) ControlAddress() net.Addr { return r.control.Addr() }

// Close stops the relay and ends all connections.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	err := errors.Join(r.carried.Close(), r.server.Close())
	r.replace(nil)
	r.routines.Wait()
	return err
}

// accept turns the connection of a request into the relay's link.
func (r *Relay) accept(w http.ResponseWriter, request *http.Request) {
	if subtle.ConstantTimeCompare([]byte(request.Header.Get(TokenHeader)), []byte(r.token)) != 1 {
		http.Error(w, "the token in the header "+TokenHeader+" must be the token of the relay's run", http.StatusForbidden)
		return
	}
	if request.Header.Get("Upgrade") != Protocol {
		w.Header().Set("Upgrade", Protocol)
		http.Error(w, "the request must be upgraded to "+Protocol, http.StatusUpgradeRequired)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack() // the suite sends nothing before it has the answer
	if err != nil {
		http.Error(w, "the connection of the request can't be upgraded: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+Protocol+"\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		Protocols:   unencryptedHTTP2(),
		HTTP2:       &http.HTTP2Config{SendPingTimeout: pingInterval},
	}
	link, err := transport.NewClientConn(context.WithoutCancel(request.Context()), "http", "suite:80")
	if err != nil {
		_ = conn.Close()
		return
	}
	r.replace(link)
	r.greet(link)
}

// greet sends a request over a link. The request shows the suite that the relay uses this link from now on.
func (r *Relay) greet(link *http.ClientConn) {
	request, err := http.NewRequest(http.MethodGet, "http://suite/", nil)
	if err != nil {
		return
	}
	if response, err := link.RoundTrip(request); err == nil {
		_ = response.Body.Close()
	}
}

// replace makes the relay use another link, and ends the previous link. After Close, it ends the new link instead.
func (r *Relay) replace(link *http.ClientConn) {
	r.mu.Lock()
	former := r.link
	if r.closed && link != nil {
		former, link = link, r.link
	}
	r.link = link
	r.mu.Unlock()
	if former != nil {
		_ = former.Close()
	}
}

func (r *Relay) carryAll() {
	for {
		conn, err := r.carried.Accept()
		if err != nil {
			return
		}
		r.routines.Go(func() { r.carry(conn) })
	}
}

// carry carries a connection over the link. It closes the connection when the suite closes its end, or at once if there
// is no link.
func (r *Relay) carry(conn net.Conn) {
	defer conn.Close()
	r.mu.Lock()
	link := r.link
	r.mu.Unlock()
	if link == nil {
		return
	}
	request, err := http.NewRequest(http.MethodPost, "http://suite/", io.NopCloser(conn))
	if err != nil {
		return
	}
	response, err := link.RoundTrip(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		_, _ = io.Copy(conn, response.Body) // either side may end the connection
	}
}

func unencryptedHTTP2() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// selfSigned returns a self-signed certificate. API servers that forward requests to a pod don't verify the pod's
// certificate.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conformance relay"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), DNSNames: []string{"relay"}}
	served, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{served}, PrivateKey: key}, err
}
