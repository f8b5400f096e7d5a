//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
)

// extensionCalls is the number of calls of a hook, and of plain HTTPS requests for comparison.
const extensionCalls = 2000

// extensions starts the runtime extension of examples/runtime-extension again and again.
type extensions struct {
	program, certs string
	configs        dynamic.ResourceInterface
	server         rest.Interface
	ca             []byte
}

// measureExtensions measures runtime hooks in two ways: "miniapi serve" discovers and calls an extension that has just
// started, and a client in this process calls one extension many times.
func measureExtensions(ctx context.Context, t *table, binary string, rounds int) error {
	p, err := startProcess(ctx, binary, "--runtime-hooks")
	if err != nil {
		return err
	}
	return errors.Join(measureExtensionsOf(ctx, t, p, binary, rounds), p.stop())
}

func measureExtensionsOf(ctx context.Context, t *table, p *process, binary string, rounds int) error {
	e := &extensions{program: filepath.Join(p.dir, "runtime-extension"), certs: filepath.Join(p.dir, "certs")}
	for _, command := range []*exec.Cmd{
		exec.CommandContext(ctx, "go", "build", "-o", e.program, "./examples/runtime-extension"),
		exec.CommandContext(ctx, binary, "cert", "127.0.0.1", "--dir="+e.certs, "--kubeconfig="+p.kubeconfig),
	} {
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	e.server, e.configs = typed.Discovery().RESTClient(), all.Resource(runtimev1.Resource())
	if e.ca, err = os.ReadFile(filepath.Join(e.certs, "ca.crt")); err != nil {
		return err
	}
	var first []float64
	for i := range rounds {
		took, err := e.firstCall(ctx, fmt.Sprint("round-", i))
		if err != nil {
			return err
		}
		first = append(first, ms(took))
	}
	t.miniapi.set(&extensionFirst, median(first))
	more, err := overhead(ctx)
	if err != nil {
		return err
	}
	t.miniapi.set(&extensionCall, more)
	return nil
}

// start starts the extension, and returns its address when it listens.
func (e *extensions) start(ctx context.Context) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, e.program, "--certs="+e.certs, "--port=0")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		_ = command.Wait() // the process is killed, so it ends with an error
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%s: must print the address at which it listens: %w", e.program, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), stop, nil
}

// firstCall starts an extension, creates its ExtensionConfig, and lets the server discover and call the extension. It
// returns the time from the start of the process to the answer to the call.
func (e *extensions) firstCall(ctx context.Context, name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, activeTimeout)
	defer cancel()
	list, err := e.configs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	changes, err := e.configs.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return 0, err
	}
	defer changes.Stop()

	began := time.Now()
	address, stop, err := e.start(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	config := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clientConfig": map[string]any{
		"url": "https://" + address, "caBundle": base64.StdEncoding.EncodeToString(e.ca),
	}}}}
	config.SetAPIVersion(runtimev1.GroupVersion().String())
	config.SetKind("ExtensionConfig")
	config.SetName(name)
	if _, err := e.configs.Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	if err := awaitHandlers(name, changes); err != nil {
		return 0, err
	}
	body, err := json.Marshal(hookclient.Call{Hook: "BeforeClusterCreate", Handler: "quota." + name, Object: []byte(`{"kind":"Cluster","metadata":{"namespace":"default","name":"c"}}`)})
	if err != nil {
		return 0, err
	}
	data, err := e.server.Post().AbsPath(hookcalls.CallPath).Body(body).DoRaw(ctx)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	var result hookclient.Result
	err = json.Unmarshal(data, &result)
	if err == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	if err != nil {
		return 0, fmt.Errorf("call of the extension: %w: %s", err, data)
	}
	return took, e.configs.Delete(ctx, name, metav1.DeleteOptions{})
}

// awaitHandlers returns when the status of an ExtensionConfig has handlers.
func awaitHandlers(name string, changes watch.Interface) error {
	var last any
	for change := range changes.ResultChan() {
		config, is := change.Object.(*unstructured.Unstructured)
		if !is || config.GetName() != name {
			continue
		}
		last = config.Object["status"]
		if _, discovered, _ := unstructured.NestedSlice(config.Object, "status", "handlers"); discovered {
			return nil
		}
	}
	return fmt.Errorf("ExtensionConfig %q isn't discovered within %s: its status is %v", name, activeTimeout, last)
}

// overhead returns the difference, in milliseconds, between the median call of a hook and the median of plain HTTPS
// requests with the same bodies. The handler of the plain requests doesn't decode the body and always sends the same
// response. Both servers are in this process, and are called by turns.
func overhead(ctx context.Context) (float64, error) {
	hooks := catalog.New()
	if err := clusterapi.AddToCatalog(hooks); err != nil {
		return 0, err
	}
	handler, err := extension.New(extension.Options{Catalog: hooks}, extension.Of(clusterapi.BeforeClusterCreate, "quota",
		func(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
			response.Status = hooksv1.ResponseStatusSuccess
		}))
	if err != nil {
		return 0, err
	}
	extended := serveTLS(handler)
	defer extended.Close()
	plain := serveTLS(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(w, `{"status":"Success","retryAfterSeconds":0}`)
	}))
	defer plain.Close()
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{})
	if err != nil {
		return 0, err
	}
	defer connector.Close()
	handlers := hookregistry.New()
	caller, err := hookclient.New(hookclient.Options{Catalog: hooks, Registry: handlers, Connector: connector})
	if err != nil {
		return 0, err
	}
	config := runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}
	config.Spec.ClientConfig = clientConfigOf(extended)
	if config.Status.Handlers, err = caller.Discover(ctx, &config); err != nil {
		return 0, err
	}
	if err := handlers.WarmUp([]runtimev1.ExtensionConfig{config}); err != nil {
		return 0, err
	}
	connection, err := connector.Connect(clientConfigOf(plain))
	if err != nil {
		return 0, err
	}
	request := &clusterapi.BeforeClusterCreateRequest{Cluster: runtime.RawExtension{Raw: []byte(`{"kind":"Cluster","metadata":{"namespace":"default","name":"c"}}`)}}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	var calls, requests []float64
	for range extensionCalls {
		began := time.Now()
		if err := caller.CallAll(ctx, clusterapi.BeforeClusterCreate, &metav1.ObjectMeta{}, request, &clusterapi.BeforeClusterCreateResponse{}); err != nil {
			return 0, err
		}
		calls = append(calls, ms(time.Since(began)))
		began = time.Now()
		if err := post(ctx, connection, body); err != nil {
			return 0, err
		}
		requests = append(requests, ms(time.Since(began)))
	}
	return median(calls) - median(requests), nil
}

func serveTLS(handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}

func clientConfigOf(server *httptest.Server) runtimev1.ClientConfig {
	return runtimev1.ClientConfig{URL: server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
}

// post sends a request and ignores the content of the answer.
func post(ctx context.Context, connection hookclient.Connection, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, connection.URL.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := connection.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is answered with HTTP status %d", connection.URL, resp.StatusCode)
	}
	return nil
}
