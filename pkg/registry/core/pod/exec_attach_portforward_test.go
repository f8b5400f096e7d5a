package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	transportspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// serveSession is a fake kubelet. It answers every session with the request, and then with the data that it
// receives.
func serveSession(w http.ResponseWriter, req *http.Request) {
	in, out, all := corev1.StreamTypeStdin, corev1.StreamTypeStdout, 3
	if strings.HasPrefix(req.URL.Path, "/portForward/") {
		in, out, all = corev1.StreamTypeData, corev1.StreamTypeData, 2
	}
	if _, err := httpstream.Handshake(req, w, []string{"v4.channel.k8s.io", "portforward.k8s.io"}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, all)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(s httpstream.Stream, _ <-chan struct{}) error {
		opened <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	streams := map[string]httpstream.Stream{}
	for len(streams) < all {
		select {
		case s := <-opened:
			streams[s.Headers().Get(corev1.StreamType)] = s
		case <-conn.CloseChan():
			return
		}
	}
	input, _ := io.ReadAll(streams[in])
	_, _ = fmt.Fprintf(streams[out], "%s %s: %s", req.Method, req.URL, input)
	if all == 3 {
		_ = json.NewEncoder(streams[corev1.StreamTypeError]).Encode(metav1.Status{Status: metav1.StatusSuccess})
	}
	for _, s := range streams {
		_ = s.Close()
	}
	<-conn.CloseChan()
}

func sessions[O runtime.Object](k connect.Kubelets, ask func(O) session, pods ...*corev1.Pod) *sessionREST {
	found := registrytest.Known{}
	for _, p := range pods {
		found[p.Name] = p
	}
	var options O
	return &sessionREST{
		pods: found, kubelets: k, authorizer: may("get", "create"),
		options: registry.NewOf(options), ask: func(o runtime.Object) session { return ask(o.(O)) },
	}
}

// may returns an authorizer that allows only the verbs.
func may(verbs ...string) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		for _, v := range verbs {
			if a.GetVerb() == v {
				return authorizer.DecisionAllow, "", nil
			}
		}
		return authorizer.DecisionNoOpinion, "not among the verbs of the test", nil
	})
}

func TestExecAndAttachReachTheKubelet(t *testing.T) {
	t.Parallel()
	k := kubeletsOf(t, serveSession)
	executors := []struct {
		name, reason string
		dial         func(*restclient.Config, string) (remotecommand.Executor, error)
	}{
		{"SPDY", "the connection is passed on unchanged", func(c *restclient.Config, u string) (remotecommand.Executor, error) {
			parsed, err := url.Parse(u)
			if err != nil {
				return nil, err
			}
			return remotecommand.NewSPDYExecutor(c, http.MethodPost, parsed)
		}},
		{"websocket", "kubelets support only SPDY, so the server translates", func(c *restclient.Config, u string) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u)
		}},
	}
	subresources := []struct {
		name, reason, query, want string
		rest                      *sessionREST
	}{
		{
			"exec", "every argument of the command is a parameter, and the streams have the names that kubelets know",
			"container=c&command=ls&command=-l&stdin=true&stdout=true",
			"/exec/ns/p/c?command=ls&command=-l&input=1&output=1: hello",
			sessions(k, execSession, registrytest.PodOnNode("p", "b", "c")),
		},
		{
			"attach", "a pod's only container needs no name",
			"stdin=true&stdout=true",
			"/attach/ns/p/c?input=1&output=1: hello",
			sessions(k, attachSession, registrytest.PodOnNode("p", "c")),
		},
	}
	for _, sub := range subresources {
		server := registrytest.Connected(t, sub.rest)
		for _, e := range executors {
			t.Run(sub.name+" over "+e.name, func(t *testing.T) {
				executor, err := e.dial(&restclient.Config{Host: server.URL}, server.URL+"/p?"+sub.query)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out})
				if err != nil {
					t.Fatal(err)
				}
				if _, got, _ := strings.Cut(out.String(), " "); got != sub.want {
					t.Errorf("%s; %s\n got %s\nwant %s", sub.reason, e.reason, got, sub.want)
				}
			})
		}
	}
}

func TestPortForwardReachesTheKubelet(t *testing.T) {
	t.Parallel()
	server := registrytest.Connected(t, sessions(kubeletsOf(t, serveSession), portForwardSession, registrytest.PodOnNode("p", "c")))
	config := &restclient.Config{Host: server.URL}
	location, err := url.Parse(server.URL + "/p?ports=80&ports=8080")
	if err != nil {
		t.Fatal(err)
	}
	overSPDY := func() (httpstream.Dialer, error) {
		transport, upgrader, err := transportspdy.RoundTripperFor(config)
		return transportspdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, location), err
	}
	overWebsocket := func() (httpstream.Dialer, error) {
		return portforward.NewSPDYOverWebsocketDialerForStreaming(location, config)
	}
	for _, test := range []struct {
		name, reason string
		dialer       func() (httpstream.Dialer, error)
	}{
		{"SPDY", "the connection is passed on unchanged", overSPDY},
		{"websocket", "the websocket carries SPDY, because kubelets support only SPDY", overWebsocket},
	} {
		t.Run(test.name, func(t *testing.T) {
			dialer, err := test.dialer()
			if err != nil {
				t.Fatal(err)
			}
			conn, _, err := dialer.Dial("portforward.k8s.io")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			var data httpstream.Stream
			for _, kind := range []string{corev1.StreamTypeError, corev1.StreamTypeData} {
				headers := http.Header{}
				headers.Set(corev1.StreamType, kind)
				headers.Set(corev1.PortHeader, "80")
				headers.Set(corev1.PortForwardRequestIDHeader, "0")
				if data, err = conn.CreateStream(headers); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = io.WriteString(data, "hello")
			_ = data.Close()
			got, err := io.ReadAll(data)
			if err != nil {
				t.Fatal(err)
			}
			if want := "/portForward/ns/p?port=80%2C8080: hello"; !strings.HasSuffix(string(got), want) {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, want)
			}
		})
	}
}

func TestSessionsThatAreRefused(t *testing.T) {
	t.Parallel()
	unscheduled := registrytest.PodOnNode("unscheduled", "c")
	unscheduled.Spec.NodeName = ""
	lost := registrytest.PodOnNode("lost", "c")
	lost.Spec.NodeName = "gone"
	several := registrytest.PodOnNode("several", "a", "b")
	several.Spec.InitContainers = []corev1.Container{{Name: "i"}}
	several.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e"}}}
	r := sessions(kubeletsOf(t, serveSession), execSession, unscheduled, lost, several, registrytest.PodOnNode("empty"), registrytest.PodOnNode("p", "c"))
	readOnly := *r
	readOnly.authorizer = may("get")
	for _, test := range []struct {
		name, reason string
		rest         *sessionREST
		method, path string
		want         string
	}{
		{"no pod", "the pod is looked up once the request is admitted", r, "POST", "/nope", `404 things "nope" not found`},
		{"no node", "a pod without a node has no kubelet", r, "POST", "/unscheduled", "400 pod unscheduled does not have a host assigned"},
		{"unknown node", "the node's object names the kubelet", r, "POST", "/lost", `404 things "gone" not found`},
		{"which container",
			"the caller must name a container of a pod with several, and can name a container of any sort", r, "POST",
			"/several", "400 a container name must be specified for pod several, choose one of: [i a b e]"},
		{"no container", "the pod has no container", r, "POST", "/empty", "400 a container name must be specified for pod empty"},
		{"unknown container", "the name in the request is not the name of a container", r, "POST", "/p?container=x",
			"400 container x is not valid for pod p"},
		{"no upgrade", "a session needs an upgraded connection", r, "POST", "/p", "400 Upgrade request required"},
		{"GET without create", "a websocket opens what a POST opens, and needs the same right", &readOnly, "GET", "/p",
			`403 pods "p" is forbidden: not among the verbs of the test`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := registrytest.Respond(t, test.method, registrytest.Connected(t, test.rest).URL+test.path); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}
