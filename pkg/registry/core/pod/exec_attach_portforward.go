package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
)

// session describes the connection to a pod's kubelet that a request opens, for example a request to pods/exec.
type session struct {
	// path returns the path of the kubelet's endpoint for the pod. For exec and attach, the path has the container
	// too.
	path  func(*corev1.Pod) (string, error)
	query url.Values
	// translate returns a handler that translates websocket connections to SPDY, for kubelets that support only
	// SPDY (KEP-4006). Other connections go to the handler spdy.
	translate func(spdy http.Handler, location *url.URL, transport http.RoundTripper) http.Handler
}

// sessionSubresource returns a subresource of pods whose requests open sessions, such as exec. O is the type of the
// subresource's options, and ask returns the session that the options of a request ask for.
func sessionSubresource[O runtime.Object](name string, ask func(O) session) registry.Subresource {
	var options O
	newOptions := registry.NewOf(options)
	return registry.Subresource{Name: name, Options: newOptions(), Storage: func(pods *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
		kubelets, err := connect.NewKubelets(deps)
		if err != nil {
			return nil, err
		}
		return &sessionREST{
			pods: pods, kubelets: kubelets, authorizer: deps.Authorizer,
			options: newOptions,
			ask:     func(o runtime.Object) session { return ask(o.(O)) },
		}, nil
	}}
}

func execSession(o *corev1.PodExecOptions) session {
	s := containerSession("exec", o.Container, proxy.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY})
	if len(o.Command) > 0 {
		s.query["command"] = o.Command
	}
	return s
}

func attachSession(o *corev1.PodAttachOptions) session {
	return containerSession("attach", o.Container, proxy.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY})
}

func containerSession(verb, container string, streams proxy.Options) session {
	query := url.Values{}
	for param, wanted := range map[string]bool{
		corev1.ExecStdinParam: streams.Stdin, corev1.ExecStdoutParam: streams.Stdout,
		corev1.ExecStderrParam: streams.Stderr, corev1.ExecTTYParam: streams.Tty,
	} {
		if wanted {
			query.Set(param, "1")
		}
	}
	return session{
		path: func(pod *corev1.Pod) (string, error) {
			container, err := containerOf(pod, container)
			return fmt.Sprintf("/%s/%s/%s/%s", verb, pod.Namespace, pod.Name, container), err
		},
		query: query,
		translate: func(spdy http.Handler, location *url.URL, transport http.RoundTripper) http.Handler {
			websocket := proxy.NewStreamTranslatorHandler(location, transport, 0, streams)
			return proxy.NewTranslatingHandler(spdy, websocket, wsstream.IsWebSocketRequestWithStreamCloseProtocol)
		},
	}
}

func portForwardSession(o *corev1.PodPortForwardOptions) session {
	query := url.Values{}
	if len(o.Ports) > 0 {
		ports := make([]string, len(o.Ports))
		for i, p := range o.Ports {
			ports[i] = strconv.Itoa(int(p))
		}
		query.Set(corev1.PortHeader, strings.Join(ports, ","))
	}
	return session{
		path: func(pod *corev1.Pod) (string, error) {
			return fmt.Sprintf("/portForward/%s/%s", pod.Namespace, pod.Name), nil
		},
		query: query,
		translate: func(spdy http.Handler, _ *url.URL, _ http.RoundTripper) http.Handler {
			return proxy.NewTranslatingHandler(spdy, proxy.NewTunnelingHandler(spdy), wsstream.IsWebSocketRequestWithTunnelingProtocol)
		},
	}
}

// sessionREST serves pods/exec, pods/attach and pods/portforward.
type sessionREST struct {
	pods       rest.Getter
	kubelets   connect.Kubelets
	authorizer authorizer.Authorizer
	options    func() runtime.Object
	ask        func(runtime.Object) session
}

var _ rest.Connecter = &sessionREST{}

func (r *sessionREST) New() runtime.Object { return r.options() }

// Destroy does nothing, because nothing is kept open between requests.
func (r *sessionREST) Destroy() {}

// ConnectMethods returns POST and GET. Websocket clients use GET.
func (r *sessionREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions returns empty options. The options don't contain a part of the URL path.
func (r *sessionREST) NewConnectOptions() (runtime.Object, bool, string) {
	return r.options(), false, ""
}

// Connect forwards the client's connection to the pod's kubelet.
func (r *sessionREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	// A websocket begins with a GET, but does the same as a POST. So the user needs the permission for a POST.
	if err := alsoAuthorized(ctx, r.authorizer, "create"); err != nil {
		return nil, err
	}
	pod, err := connect.GetPod(ctx, r.pods, name)
	if err != nil {
		return nil, err
	}
	s := r.ask(options)
	path, err := s.path(pod)
	if err != nil {
		return nil, err
	}
	location, err := r.kubelets.Serving(ctx, pod, path, s.query)
	if err != nil {
		return nil, err
	}
	return s.translate(connect.UpgradeHandler(location, r.kubelets.Transport, responder), location, r.kubelets.Transport), nil
}

// alsoAuthorized checks that the user may make the same request with another verb.
func alsoAuthorized(ctx context.Context, a authorizer.Authorizer, verb string) error {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("no request info in context"))
	}
	if info.Verb == verb {
		return nil
	}
	if a == nil {
		return apierrors.NewInternalError(errors.New("no authorizer available"))
	}
	asked, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("error building authorizer attributes: %w", err))
	}
	decision, reason, err := a.Authorize(ctx, withVerb{asked, verb})
	if err != nil {
		return err
	}
	if decision != authorizer.DecisionAllow {
		return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errors.New(reason))
	}
	return nil
}

// withVerb has the attributes of a request, but another verb.
type withVerb struct {
	authorizer.Attributes
	verb string
}

func (w withVerb) GetVerb() string { return w.verb }
