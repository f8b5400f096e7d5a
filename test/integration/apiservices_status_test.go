package integration_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// After any write of an APIService by a client, the server corrects the status.
func TestStatusOfAPIService(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, &extension{}, "tools.default.svc")))
	services := clusterResources(srv, apiRegistration, "apiservices")
	must(services.Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	becomes(t, srv, "Available True Passed")
	for _, name := range []string{"bare", "idle"} {
		must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
		}, metav1.CreateOptions{}))(t)
	}
	must(srv.Client().DiscoveryV1().EndpointSlices("default").Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "idle", Labels: map[string]string{discoveryv1.LabelServiceName: "idle"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(8443))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}},
	}, metav1.CreateOptions{}))(t)
	for _, test := range []struct {
		name, reason, patch, want string
		subresources              []string
	}{
		{"taken away", "the other server is still available", `{"status": {"conditions": null}}`,
			"Available True Passed", []string{"status"}},
		{"another service", "the named service doesn't exist", `{"spec": {"service": {"name": "absent"}}}`,
			"Available False ServiceNotFound", nil},
		{"another port", "the service has a port, but not this one", `{"spec": {"service": {"name": "kubernetes", "port": 8443}}}`,
			`Available False ServicePortError: service/kubernetes in "default" is not listening on port 8443`, nil},
		{"no endpoints", "the service has no address", `{"spec": {"service": {"name": "bare", "port": 443}}}`,
			`Available False EndpointsNotFound: cannot find endpointslices for service/bare in "default"`, nil},
		{"none ready", "this server sends no request to an endpoint that isn't ready", `{"spec": {"service": {"name": "idle"}}}`,
			`Available False MissingEndpoints: endpointslices for service/idle in "default" have no addresses with port name "https"`,
			nil},
		{"no service", "this server's own versions are always available",
			`{"spec": {"service": null, "caBundle": null}}`, "Available True Local", nil},
	} {
		must(services.Patch(t.Context(), "v1.tools.example.com", types.MergePatchType, []byte(test.patch), metav1.PatchOptions{}, test.subresources...))(t)
		becomes(t, srv, test.want)
	}
}

// When the Service of an APIService is deleted or created, the status of the APIService changes at once.
func TestStatusOfAPIServiceFollowsItsService(t *testing.T) {
	t.Parallel()
	port := trusted.serve(t, &extension{}, "tools.default.svc")
	srv := miniapitest.Start(t)
	service := toolsService("tools")
	ok(t, unstructured.SetNestedField(service.Object, int64(443), "spec", "service", "port"))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), service, metav1.CreateOptions{}))(t)
	services, slices := srv.Client().CoreV1().Services("default"), srv.Client().DiscoveryV1().EndpointSlices("default")
	create := func() {
		t.Helper()
		must(services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "tools"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		}, metav1.CreateOptions{}))(t)
	}
	const soon = 25 * time.Second // less than 30 seconds, after which an available server is checked again in any case
	becomes := func(want string) { t.Helper(); becomesWithin(t, soon, srv, want) }
	create()
	slice := must(slices.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "tools", Labels: map[string]string{discoveryv1.LabelServiceName: "tools"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(port))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
	}, metav1.CreateOptions{}))(t)
	becomes("Available True Passed")
	slice.Labels[discoveryv1.LabelServiceName] = "others"
	slice = must(slices.Update(t.Context(), slice, metav1.UpdateOptions{}))(t)
	becomes("Available False EndpointsNotFound")
	slice.Labels[discoveryv1.LabelServiceName] = "tools"
	must(slices.Update(t.Context(), slice, metav1.UpdateOptions{}))(t)
	becomes("Available True Passed")
	ok(t, services.Delete(t.Context(), "tools", metav1.DeleteOptions{}))
	becomes("Available False ServiceNotFound")
	create()
	becomes("Available True Passed")
}

// A restore brings back the old status of an APIService. When the other server is available again, it trusts this
// server's certificate again.
func TestRestoredAPIService(t *testing.T) {
	t.Parallel()
	tools := &extension{}
	port := trusted.serve(t, tools, "tools.default.svc")
	srv := miniapitest.Start(t)
	service := toolsService("tools")
	ok(t, unstructured.SetNestedField(service.Object, int64(port), "spec", "service", "port"))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), service, metav1.CreateOptions{}))(t)
	becomes(t, srv, "Available False ServiceNotFound")
	before := must(srv.Snapshot())(t)
	begin := func() {
		t.Helper()
		must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "tools"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		}, metav1.CreateOptions{}))(t)
		becomes(t, srv, "Available True")
	}
	begin()
	ok(t, srv.Restore(before))
	begin()
	must(resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{}))(t)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	trustsFrontProxy(t, srv, tools.certs)
}

// A start restores a changed APIService of a built-in group version, unless the APIService lacks the server's label.
func TestBuiltInAPIServicesAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := miniapitest.Start(t, miniapitest.WithDataDir(dir))
	services := clusterResources(srv, apiRegistration, "apiservices")
	before := must(services.Get(t.Context(), "v1.apps", metav1.GetOptions{}))(t)
	must(services.Patch(t.Context(), "v1.apps", types.MergePatchType, []byte(`{"spec": {"versionPriority": 7}}`), metav1.PatchOptions{}))(t)
	unmanaged := `{"metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": null}}, "spec": {"versionPriority": 7}}`
	must(services.Patch(t.Context(), "v1.batch", types.MergePatchType, []byte(unmanaged), metav1.PatchOptions{}))(t)
	ok(t, srv.Stop())

	srv = miniapitest.Start(t, miniapitest.WithDataDir(dir))
	services = clusterResources(srv, apiRegistration, "apiservices")
	for name, want := range map[string]any{"v1.apps": fieldOf(before, "spec", "versionPriority"), "v1.batch": int64(7)} {
		service := must(services.Get(t.Context(), name, metav1.GetOptions{}))(t)
		if got := fieldOf(service, "spec", "versionPriority"); got != want {
			t.Errorf("versionPriority of %s is %v, want %v", name, got, want)
		}
	}
}
