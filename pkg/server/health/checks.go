// Package health has the health checks that miniapi adds to the checks of k8s.io/apiserver. It also waits until checks
// succeed.
//
// [NewBootstrapped] makes the check of the objects that every cluster has, such as namespaces and RBAC roles. [AddHooks]
// and [AddLoopback] add the checks of admission, of the storages and of the server's own clients. [Client] waits for
// checks. Don't use the package for checks that need no server, such as those of a file: see package files.
package health

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
)

// bootstrapHooks are kube-apiserver's checks of the steps that create the objects of every cluster, such as RBAC roles.
// Each check comes with a resource of its step: as in kube-apiserver, the check doesn't exist if the resource isn't
// served.
var bootstrapHooks = []struct {
	name    string
	creates schema.GroupVersionResource
}{
	{"poststarthook/start-system-namespaces-controller", corev1.SchemeGroupVersion.WithResource("namespaces")},
	{"poststarthook/start-cluster-authentication-info-controller", corev1.SchemeGroupVersion.WithResource("configmaps")},
	{"poststarthook/start-legacy-token-tracking-controller", corev1.SchemeGroupVersion.WithResource("configmaps")},
	{"poststarthook/rbac/bootstrap-roles", rbacv1.SchemeGroupVersion.WithResource("clusterroles")},
	{"poststarthook/scheduling/bootstrap-system-priority-classes", schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")},
	{"poststarthook/priority-and-fairness-config-producer", flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")},
	{"poststarthook/bootstrap-controller", corev1.SchemeGroupVersion.WithResource("services")},
	{"poststarthook/start-kubernetes-service-cidr-controller", networkingv1.SchemeGroupVersion.WithResource("servicecidrs")},
}

// Bootstrapped is a health check that fails until the objects of every cluster (namespaces, RBAC roles and so on)
// exist.
type Bootstrapped struct{ created chan struct{} }

// NewBootstrapped returns a check that fails until Created is called.
func NewBootstrapped() Bootstrapped { return Bootstrapped{make(chan struct{})} }

// Created makes the check succeed. It must be called once.
func (b Bootstrapped) Created() { close(b.created) }

// Done returns a channel that is closed when Created is called.
func (b Bootstrapped) Done() <-chan struct{} { return b.created }

func (b Bootstrapped) check(*http.Request) error {
	select {
	case <-b.created:
		return nil
	default:
		return errors.New("some objects that every cluster has, such as RBAC roles, aren't created yet")
	}
}

// AddTo adds the check under kube-apiserver's names. A client that finds the server healthy can rely on the namespaces
// and roles that every cluster has. The server creates all of them in one step, so all names stand for the same check.
func (b Bootstrapped) AddTo(config *genericapiserver.Config, served func(schema.GroupVersionResource) bool) {
	for _, hook := range bootstrapHooks {
		if served(hook.creates) {
			config.AddHealthChecks(healthz.NamedCheck(hook.name, b.check))
		}
	}
}

// AddHooks adds kube-apiserver's check of admission and, if its feature gate is on, the check of the storages. The
// argument "admission" waits until admission knows the stored configurations.
func AddHooks(server *genericapiserver.GenericAPIServer, gates featuregate.FeatureGate, admission func(context.Context) error) error {
	err := server.AddPostStartHook("start-apiserver-admission-initializer", func(ctx genericapiserver.PostStartHookContext) error {
		_ = admission(ctx) // an error of the hook would end the process, and admission fails only when the server stops
		return nil
	})
	if err != nil || !gates.Enabled(features.WatchCacheInitializationPostStartHook) {
		return err
	}
	return server.AddPostStartHook("storage-readiness", server.StorageReadinessHook.Hook)
}

// AddLoopback adds kube-apiserver's check of its own client to /healthz and /livez. In kube-apiserver, the check fails
// once the certificate for that client has expired. This server's own client needs no certificate: the check fails only
// while the server doesn't serve its own requests.
func AddLoopback(config *genericapiserver.Config, serves func() error) {
	check := healthz.NamedCheck("loopback-serving-certificate", func(*http.Request) error { return serves() })
	config.AddHealthzChecks(check)
	config.AddLivezChecks(check)
}

// Started returns the path of a health check that succeeds when all parts of k8s.io/apiserver have started. It excludes
// the check of etcd and the checks of the objects that every cluster has.
func Started() string {
	exclude := url.Values{"exclude": {"etcd"}}
	for _, hook := range bootstrapHooks {
		exclude.Add("exclude", hook.name)
	}
	return "/livez?" + exclude.Encode()
}

// ReplaceLog replaces the library's health check "log", because that check starts a goroutine that never ends.
func ReplaceLog(config *genericapiserver.Config) {
	own := healthz.NamedCheck(healthz.LogHealthz.Name(), logFlushes)
	for _, checks := range []*[]healthz.HealthChecker{&config.HealthzChecks, &config.LivezChecks, &config.ReadyzChecks} {
		*checks = slices.Clone(*checks)
		if i := slices.Index(*checks, healthz.LogHealthz); i >= 0 {
			(*checks)[i] = own
		}
	}
}

// logFlushes is a health check that fails if the log can't be flushed.
func logFlushes(r *http.Request) error {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		klog.Flush()
	}()
	select {
	case <-flushed:
		return nil
	case <-r.Context().Done():
		return errors.New("logging blocked")
	}
}
