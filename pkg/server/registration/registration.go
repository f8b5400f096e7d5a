package registration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// managedBy is the label of what the server has created.
const managedBy, manager = "app.kubernetes.io/managed-by", "miniapi"

// A server that keeps its registration looks at it after each change of an APIService or of the serving certificate, and
// also after these times.
const (
	checkInterval = time.Minute
	retryInterval = time.Second
)

// removeTimeout limits the time for the removal of a registration at exit.
const removeTimeout = 5 * time.Second

// Config has what a registration needs from the server.
type Config struct {
	// Cluster is the client configuration of the server in the cluster.
	Cluster *rest.Config
	// Versions are the group versions to register.
	Versions []Version
	// Address is the address that the server listens on.
	Address *net.TCPAddr
	// CA returns the authorities that verify the serving certificate. Follow calls a function when they have changed.
	CA     func() []byte
	Follow func(changed func())
}

// Version is a group version, with its priorities among the groups and among the versions of the group.
type Version struct {
	schema.GroupVersion
	GroupPriority, VersionPriority int32
}

// Registration is the registration of a server in its cluster.
type Registration struct {
	Config
	options  *Options
	core     kubernetes.Interface
	services apiregistrationclient.APIServiceInterface
	// changed has an element if the authorities have changed.
	changed chan struct{}
	// keeping is the goroutine that keeps the registration until stop is called.
	keeping sync.WaitGroup
	stop    context.CancelFunc
}

// New returns a registration. Start makes it.
func New(options *Options, config Config) (*Registration, error) {
	if len(config.Versions) == 0 {
		return nil, errors.New("--register: the server serves no group of its own that it could register")
	}
	core, err := kubernetes.NewForConfig(config.Cluster)
	if err != nil {
		return nil, err
	}
	registrations, err := clientset.NewForConfig(config.Cluster)
	if err != nil {
		return nil, err
	}
	r := &Registration{
		Config: config, options: options, core: core, services: registrations.ApiregistrationV1().APIServices(), changed: make(chan struct{}, 1),
	}
	config.Follow(func() {
		select {
		case r.changed <- struct{}{}:
		default: // the change before isn't handled yet
		}
	})
	return r, nil
}

// Start registers the server, and keeps the registration until ctx ends or Stop is called. It returns an error if another
// server has one of the groups.
func (r *Registration) Start(ctx, following context.Context) error {
	if err := r.register(ctx); err != nil {
		return fmt.Errorf("--register: %w", err)
	}
	following, r.stop = context.WithCancel(following)
	r.keeping.Go(func() { r.keep(following) })
	return nil
}

// Stop no longer keeps the registration, and removes what the server has created if the options say so.
func (r *Registration) Stop(ctx context.Context) {
	if r.stop == nil {
		return
	}
	r.stop()
	r.keeping.Wait()
	if r.options.Mode == UntilExit {
		r.remove(ctx)
	}
}

// register creates what the cluster lacks, and updates the rest.
func (r *Registration) register(ctx context.Context) error {
	port, err := r.ensureService(ctx)
	if err != nil {
		return err
	}
	for _, version := range r.Versions {
		if err := r.ensure(ctx, r.wanted(version, port)); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps the registration until ctx ends.
func (r *Registration) keep(ctx context.Context) {
	for {
		wait := checkInterval
		changes, err := r.services.Watch(ctx, metav1.ListOptions{})
		if err == nil {
			err = r.register(ctx) // what has changed before the watch
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "keeping the registration in the cluster")
			wait = retryInterval
		}
		if !r.awaitChange(ctx, changes, wait) {
			return
		}
	}
}

// awaitChange waits until one of the server's APIServices or the serving certificate has changed, or for a time. It ends the watch, which may be nil,
// and returns false when ctx ends.
func (r *Registration) awaitChange(ctx context.Context, changes watch.Interface, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	var events <-chan watch.Event
	if changes != nil {
		defer changes.Stop()
		events = changes.ResultChan()
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-r.changed:
			return true
		case event, open := <-events:
			switch {
			case !open:
				events = nil // the timer starts another watch
				timer.Reset(retryInterval)
			case r.concerns(event):
				return true
			}
		}
	}
}

// concerns reports whether an event of a watch is about a change of a registered APIService that register would revert.
func (r *Registration) concerns(event watch.Event) bool {
	service, ok := event.Object.(*apiregistrationv1.APIService)
	if !ok || event.Type == watch.Added {
		return false
	}
	i := slices.IndexFunc(r.Versions, func(v Version) bool { return service.Name == nameOf(v.GroupVersion) })
	if i < 0 {
		return false
	}
	namespace, name := r.service()
	spec := service.Spec
	return event.Type == watch.Deleted || spec.Service == nil || spec.Service.Namespace != namespace || spec.Service.Name != name || !bytes.Equal(spec.CABundle, r.CA())
}

// remove removes what servers have created, and leaves what something else has.
func (r *Registration) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	for _, version := range r.Versions {
		registered, err := r.services.Get(ctx, nameOf(version.GroupVersion), metav1.GetOptions{})
		if err == nil && registered.Labels[managedBy] == manager {
			err = r.services.Delete(ctx, registered.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(registered.UID))})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "removing the registration in the cluster", "APIService", nameOf(version.GroupVersion))
		}
	}
	namespace, name := r.service()
	service, err := r.core.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil && service.Labels[managedBy] == manager {
		err = r.core.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(service.UID))})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "removing the Service of the registration in the cluster", "service", klog.KRef(namespace, name))
	}
}

// service returns the namespace and the name of the Service that leads to the server.
func (r *Registration) service() (namespace, name string) {
	return r.options.ServiceFor(r.Versions[0].Group)
}

// address returns the host and the port by which the cluster reaches the server.
func (r *Registration) address() (host string, port int32, err error) {
	host, port = r.Address.IP.String(), int32(r.Address.Port)
	if r.options.Address != "" {
		var number string
		if host, number, err = net.SplitHostPort(r.options.Address); err != nil {
			return "", 0, err
		}
		parsed, err := strconv.ParseUint(number, 10, 16)
		return host, int32(parsed), err
	}
	if r.Address.IP.IsUnspecified() {
		return "", 0, errors.New("the server listens on all addresses: name the one by which the cluster reaches it by --register-address")
	}
	return host, port, nil
}

// ensureService creates or updates the Service, and returns the port for APIServices. A Service that something else has
// created stays as it is.
func (r *Registration) ensureService(ctx context.Context) (int32, error) {
	namespace, name := r.service()
	services := r.core.CoreV1().Services(namespace)
	live, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("get service %s/%s: %w", namespace, name, err)
	}
	if err == nil && live.Labels[managedBy] != manager {
		if len(live.Spec.Ports) == 0 {
			return 0, fmt.Errorf("the service %s/%s has no port: add the port of this server, or name another service by --register-service", namespace, name)
		}
		return live.Spec.Ports[0].Port, nil
	}
	host, port, addressErr := r.address()
	if addressErr != nil {
		return 0, addressErr
	}
	if err != nil {
		// An ExternalName may be an address on the loopback interface, which an EndpointSlice may not have.
		_, err = services.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedBy: manager}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host},
		}, metav1.CreateOptions{})
	} else if live.Spec.ExternalName != host {
		live.Spec.ExternalName = host
		_, err = services.Update(ctx, live, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	return port, nil
}

func nameOf(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// wanted returns the APIService of a group version.
func (r *Registration) wanted(version Version, port int32) *apiregistrationv1.APIService {
	namespace, name := r.service()
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(version.GroupVersion), Labels: map[string]string{managedBy: manager}},
		Spec: apiregistrationv1.APIServiceSpec{
			Service:              &apiregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: &port},
			Group:                version.Group,
			Version:              version.Version,
			CABundle:             r.CA(),
			GroupPriorityMinimum: version.GroupPriority,
			VersionPriority:      version.VersionPriority,
		},
	}
}

// ensure creates or updates an APIService. It returns an error if the group version is served by another Service, or by the
// cluster itself.
func (r *Registration) ensure(ctx context.Context, wanted *apiregistrationv1.APIService) error {
	live, err := r.services.Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = r.services.Create(ctx, wanted, metav1.CreateOptions{})
	case err != nil:
	case live.Spec.Service == nil:
		return fmt.Errorf("the cluster serves %s/%s itself: serve another group, or delete the CustomResourceDefinitions of the group", wanted.Spec.Group, wanted.Spec.Version)
	case live.Spec.Service.Namespace != wanted.Spec.Service.Namespace || live.Spec.Service.Name != wanted.Spec.Service.Name:
		return fmt.Errorf("the APIService %s leads to the service %[2]s/%[3]s: delete the APIService, or pass --register-service %[2]s/%[3]s if this server is behind that service", wanted.Name, live.Spec.Service.Namespace, live.Spec.Service.Name)
	case !reflect.DeepEqual(live.Spec, wanted.Spec):
		live.Spec = wanted.Spec
		_, err = r.services.Update(ctx, live, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("the APIService %s: %w", wanted.Name, err)
	}
	return nil
}
