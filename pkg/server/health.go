package server

import (
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
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"
)

// bootstrapHooks are the names that kube-apiserver gives to the creation of a part of what every cluster has, and
// a resource of that part: one that isn't served has no such check there either.
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

// checkBootstrap adds health checks of what every cluster has: a client that finds the server healthy finds the
// namespaces and roles too. They are created at one go, so all the names stand for the same.
func (c *Config) checkBootstrap() {
	c.bootstrapped = make(chan struct{})
	c.generic.AddHealthChecks(healthz.NamedCheck("bootstrap", c.checkBootstrapped))
	for _, hook := range bootstrapHooks {
		if c.options.apis.ResourceEnabled(hook.creates) {
			c.generic.AddHealthChecks(healthz.NamedCheck(hook.name, c.checkBootstrapped))
		}
	}
}

// checkLoopback adds kube-apiserver's check of its own client to /healthz and /livez, as there. Its client is of no use
// any more once the certificate that it is served has expired. The client of this server needs none, so that the
// check fails only while the server doesn't serve its own requests.
func (c *Config) checkLoopback() {
	check := healthz.NamedCheck("loopback-serving-certificate", func(*http.Request) error { return c.loopback.check() })
	c.generic.AddHealthzChecks(check)
	c.generic.AddLivezChecks(check)
}

// startedCheck is the health check of what the library starts, without what depends on etcd.
func startedCheck() string {
	exclude := url.Values{"exclude": {"etcd", "bootstrap"}}
	for _, hook := range bootstrapHooks {
		exclude.Add("exclude", hook.name)
	}
	return "/livez?" + exclude.Encode()
}

// checkLog puts a health check of our own in the place of the library's "log", which
// starts a goroutine that outlives every server.
func checkLog(config *genericapiserver.Config) {
	own := healthz.NamedCheck(healthz.LogHealthz.Name(), logFlushes)
	for _, checks := range []*[]healthz.HealthChecker{&config.HealthzChecks, &config.LivezChecks, &config.ReadyzChecks} {
		*checks = slices.Clone(*checks)
		if i := slices.Index(*checks, healthz.LogHealthz); i >= 0 {
			(*checks)[i] = own
		}
	}
}

// logFlushes fails when nobody can log any more.
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
