// Package incluster makes the webhooks of a suite reachable in a cluster: by a Deployment of one relay, and a Service.
// The API server calls the service, and the relay carries the connection to the process that runs the suite.
//
// All objects are in one namespace. The caller chooses and deletes the namespace. Don't use the package for objects
// that must outlive a run.
package incluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/relay"
)

// DefaultTimeout limits the time in which a cluster pulls the image and starts the relay.
const DefaultTimeout = 2 * time.Minute

// pollInterval is the time between two reads of the Deployment's state, and between two attempts to open the link.
const pollInterval = 200 * time.Millisecond

// Options are the options of Start.
type Options struct {
	// Config is the configuration of the client that creates the objects.
	Config *rest.Config
	// Image is the image of the relay. Its entry point must be the program miniapi.
	Image string
	// Start creates Namespace, and sets Labels on all objects.
	Namespace string
	Labels    map[string]string
	// Target is an address that this process can connect to. The relay carries each connection of the Service to this
	// address.
	Target string
	// Timeout limits the time until the Deployment is ready and the link is open. 0 stands for DefaultTimeout.
	Timeout time.Duration
}

// Webhooks has the objects that forward calls from a cluster to the suite's webhooks, and the link to their relay.
type Webhooks struct {
	options Options
	client  kubernetes.Interface
	link    *relay.Link
}

// HostOf returns the host name in the certificate of a Service.
func HostOf(namespace, service string) string { return service + "." + namespace + ".svc" }

// Host returns the host name of the Service that Start creates in a namespace.
func Host(namespace string) string { return HostOf(namespace, name) }

// Start creates the objects, and returns when connections to the Service arrive at the target. The caller deletes the
// namespace, even after an error.
func Start(ctx context.Context, o Options) (*Webhooks, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("webhooks in the cluster: client configuration of %s: %w", config.Host, err)
	}
	w := &Webhooks{options: o, client: client}
	token := rand.Text()
	if err := w.create(ctx, token); err != nil {
		return nil, fmt.Errorf("webhooks in the cluster: creating their objects in namespace %s: %w", o.Namespace, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not ready after %v", o.Timeout))
	defer cancel()
	if err := w.waitReady(limited); err != nil {
		return nil, fmt.Errorf("webhooks in the cluster: waiting for their Deployment in namespace %s: %w", o.Namespace, err)
	}
	if err := w.open(limited, token); err != nil {
		return nil, fmt.Errorf("webhooks in the cluster: opening the link to namespace %s: %w", o.Namespace, err)
	}
	return w, nil
}

// Close closes the link. It doesn't delete the objects.
func (w *Webhooks) Close() { w.link.Close() }

// Reference returns the reference to the Service, for the client configuration of a webhook.
func (w *Webhooks) Reference(path string) *admissionregistrationv1.ServiceReference {
	return &admissionregistrationv1.ServiceReference{Namespace: w.options.Namespace, Name: name, Path: &path}
}

// Addresses returns the type and the addresses of the endpoints of the relay. The relay accepts connections on Port.
func (w *Webhooks) Addresses(ctx context.Context) (discoveryv1.AddressType, []string, error) {
	list, err := w.client.DiscoveryV1().EndpointSlices(w.options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if err != nil {
		return "", nil, fmt.Errorf("endpoints of service %s/%s: %w", w.options.Namespace, name, err)
	}
	for i := range list.Items {
		for _, e := range list.Items[i].Endpoints {
			if len(e.Addresses) > 0 {
				return list.Items[i].AddressType, slices.Clone(e.Addresses), nil
			}
		}
	}
	return "", nil, fmt.Errorf("endpoints of service %s/%s: at least one endpoint must have an address, and none has", w.options.Namespace, name)
}

func (w *Webhooks) create(ctx context.Context, token string) error {
	o := objects{namespace: w.options.Namespace, labels: w.options.Labels, image: w.options.Image}
	namespace := o.namespace
	core, none := w.client.CoreV1(), metav1.CreateOptions{}
	for _, create := range []func() error{
		func() error { return failure(core.Namespaces().Create(ctx, o.theNamespace(), none)) },
		func() error { return failure(core.ServiceAccounts(namespace).Create(ctx, o.serviceAccount(), none)) },
		func() error { return failure(core.Secrets(namespace).Create(ctx, o.secret(token), none)) },
		func() error { return failure(core.Services(namespace).Create(ctx, o.service(), none)) },
		func() error {
			return failure(w.client.AppsV1().Deployments(namespace).Create(ctx, o.deployment(), none))
		},
	} {
		if err := create(); err != nil {
			return err
		}
	}
	return nil
}

func failure[T any](_ T, err error) error { return err }

// waitReady waits until the Deployment is ready. If the Deployment isn't ready in time, the error names the first thing
// that is missing.
func (w *Webhooks) waitReady(ctx context.Context) error {
	last := state{missing: "the Deployment wasn't read"}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		deployment, err := w.client.AppsV1().Deployments(w.options.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, ignoreEnd(ctx, err)
		}
		pods, err := w.client.CoreV1().Pods(w.options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: Selector})
		if err != nil {
			return false, ignoreEnd(ctx, err)
		}
		last = stateOf(deployment, pods.Items)
		if last.hopeless {
			return false, errors.New(last.missing)
		}
		return last.missing == "", nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %s", context.Cause(ctx), last.missing)
	}
	return err
}

// ignoreEnd drops an error that the end of the context causes, because waitReady reports the end of the context itself.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// open opens the link. It repeats failed attempts until ctx ends, because the API server may need a moment to find the
// endpoints of the service.
func (w *Webhooks) open(ctx context.Context, token string) error {
	endpoint, err := w.endpoint(token)
	if err != nil {
		return err
	}
	last := fmt.Errorf("no answer from the relay at %s", endpoint.URL)
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		link, err := relay.Open(ctx, endpoint, w.options.Target)
		if err != nil {
			if ctx.Err() == nil {
				last = err
			}
			return false, nil
		}
		w.link = link
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	}
	return nil
}

// endpoint returns the control port of the relay, with a URL that leads through the API server. The API server doesn't
// verify the relay's certificate, so only the token keeps other clients out.
func (w *Webhooks) endpoint(token string) (relay.Endpoint, error) {
	config := rest.CopyConfig(w.options.Config)
	if config.Transport == nil {
		config.NextProtos = []string{"http/1.1"} // an HTTP/2 connection can't be upgraded
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return relay.Endpoint{}, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return relay.Endpoint{}, err
	}
	at := fmt.Sprintf("%s/api/v1/namespaces/%s/services/https:%s:%s/proxy%s", strings.TrimSuffix(base.String(), "/"), w.options.Namespace, name, controlPort, relay.LinkPath)
	return relay.Endpoint{URL: at, Transport: transport, Token: token}, nil
}
