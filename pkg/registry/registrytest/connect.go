package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Known is a rest.Getter of the objects in a map: pods, services, endpoints or nodes, by name.
type Known map[string]runtime.Object

// Get implements rest.Getter.
func (k Known) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if o, ok := k[name]; ok {
		return o, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("things"), name)
}

// KnownSlices is a rest.Lister of the EndpointSlices in a slice.
type KnownSlices []discoveryv1.EndpointSlice

// NewList implements rest.Lister.
func (s KnownSlices) NewList() runtime.Object { return &discoveryv1.EndpointSliceList{} }

// List implements rest.Lister.
func (s KnownSlices) List(_ context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	list := &discoveryv1.EndpointSliceList{}
	for _, slice := range s {
		if options.LabelSelector.Matches(labels.Set(slice.Labels)) {
			list.Items = append(list.Items, slice)
		}
	}
	return list, nil
}

// ConvertToTable implements rest.TableConvertor.
func (s KnownSlices) ConvertToTable(context.Context, runtime.Object, runtime.Object) (*metav1.Table, error) {
	return nil, errors.New("KnownSlices can't show EndpointSlices as a table")
}

// PodOnNode returns a pod on the node "n". The argument "containers" has the names of its containers.
func PodOnNode(name string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: "n"}}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
	}
	return p
}

// KubeletOf returns a transport, and a rest.Getter with the node "n". The kubelet of the node answers with the
// handler. The InternalIP of the node is the address of the kubelet. The Hostname of the node is a name that
// doesn't exist.
func KubeletOf(t *testing.T, h http.HandlerFunc) (http.RoundTripper, rest.Getter) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	host, port := Address(t, server)
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "nowhere.invalid"}, {Type: corev1.NodeInternalIP, Address: host},
	}}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	return server.Client().Transport, Known{"n": node}
}

// Address returns the host and the port of a server.
func Address(t *testing.T, server *httptest.Server) (host string, port int32) {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname(), int32(n)
}

// Connected serves a connect subresource at /NAME/PATH, in the way an API server does after admission.
func Connected(t *testing.T, r rest.Connecter) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, path, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
		options, hasPath, key := r.NewConnectOptions()
		query := req.URL.Query()
		if hasPath {
			query.Set(key, "/"+path)
		}
		out := statusText{w}
		if err := registry.DecodeQuery(query, options); err != nil {
			out.Error(err)
			return
		}
		ctx := genericapirequest.WithNamespace(req.Context(), "ns")
		ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "jane"})
		ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
			IsResourceRequest: true, APIVersion: "v1", Resource: "pods", Namespace: "ns", Name: name,
			Verb: map[string]string{http.MethodGet: "get", http.MethodPost: "create"}[req.Method],
		})
		h, err := r.Connect(ctx, name, options, out)
		if err != nil {
			out.Error(err)
			return
		}
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server
}

// statusText is a rest.Responder that answers with the text of an error.
type statusText struct{ w http.ResponseWriter }

func (a statusText) Object(code int, obj runtime.Object) {
	a.w.WriteHeader(code)
	_ = json.NewEncoder(a.w).Encode(obj)
}

func (a statusText) Error(err error) {
	code := http.StatusInternalServerError
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	http.Error(a.w, err.Error(), code)
}

// Respond sends a request to a URL, and returns the status code and the body of the response, separated by a blank.
func Respond(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(res.StatusCode) + " " + strings.TrimSpace(string(body))
}

// ClosedPort returns a port of this machine on which nothing listens.
func ClosedPort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return int32(l.Addr().(*net.TCPAddr).Port)
}
