package endpointslice_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpointslice"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// start starts the controller over a fake server with the objects and the node n1.
func start(t *testing.T, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	client := fake.NewSimpleClientset(append(objects, node)...)
	client.PrependReactor("*", "endpointslices", serve)
	controllertest.Start(t, client, func(runner *work.Runner, factory informers.SharedInformerFactory) error {
		core := factory.Core().V1()
		return endpointslice.New(endpointslice.Config{
			Runner: runner, Client: client.DiscoveryV1(), Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), endpointslice.Component),
			Services: core.Services().Informer(), Pods: core.Pods().Informer(), Nodes: core.Nodes().Informer(),
			Slices: factory.Discovery().V1().EndpointSlices().Informer(),
		})
	})
	return client
}

// serve names and counts EndpointSlices as a server does. The fake server doesn't.
func serve(action clienttesting.Action) (bool, runtime.Object, error) {
	if written, ok := action.(clienttesting.CreateAction); ok { // an update implements this interface too
		slice := written.GetObject().(*discoveryv1.EndpointSlice)
		if slice.Name == "" {
			slice.Name = slice.GenerateName + rand.String(5)
			slice.UID = types.UID(slice.Name)
		}
		slice.Generation++
	}
	return false, nil, nil
}

// endpoint is what the tests compare of an endpoint.
type endpoint struct {
	Address, Node, Zone, Pod    string
	Ready, Serving, Terminating bool
	Type                        discoveryv1.AddressType
	Port                        int32
}

// await waits until the EndpointSlices of the default namespace have the endpoints.
func await(t *testing.T, client *fake.Clientset, want []endpoint) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watched, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for {
		list, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := endpointsOf(list.Items)
		if len(list.Items) > 0 && slices.Equal(got, want) {
			return
		}
		select {
		case <-watched.ResultChan():
		case <-ctx.Done():
			t.Fatalf("the endpoints differ (-want +got):\n%s", gocmp.Diff(want, got))
		}
	}
}

func endpointsOf(all []discoveryv1.EndpointSlice) (endpoints []endpoint) {
	for _, slice := range all {
		for _, e := range slice.Endpoints {
			got := endpoint{Address: e.Addresses[0], Ready: *e.Conditions.Ready, Serving: *e.Conditions.Serving, Terminating: *e.Conditions.Terminating, Type: slice.AddressType}
			if e.NodeName != nil {
				got.Node = *e.NodeName
			}
			if e.Zone != nil {
				got.Zone = *e.Zone
			}
			if e.TargetRef != nil {
				got.Pod = e.TargetRef.Name
			}
			if len(slice.Ports) > 0 && slice.Ports[0].Port != nil {
				got.Port = *slice.Ports[0].Port
			}
			endpoints = append(endpoints, got)
		}
	}
	slices.SortFunc(endpoints, func(a, b endpoint) int { return cmp.Compare(a.Address, b.Address) })
	return endpoints
}

func service(changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "s", UID: "s", Labels: map[string]string{"tier": "web"}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "x"}, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP}},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func pod(name string, ready corev1.ConditionStatus, ips ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, ResourceVersion: "1", Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
	for i, ip := range ips {
		if i == 0 {
			p.Status.PodIP = ip
		}
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return p
}

func TestEndpointSlices(t *testing.T) {
	t.Parallel()
	terminating := pod("a", corev1.ConditionTrue, "10.1.0.1")
	terminating.DeletionTimestamp = new(metav1.Now())
	ended := pod("a", corev1.ConditionFalse, "10.1.0.1")
	ended.Status.Phase = corev1.PodSucceeded
	for _, test := range []struct {
		name, reason string
		service      *corev1.Service
		pod          *corev1.Pod
		want         []endpoint
	}{
		{"ready", "the pod is ready", service(), pod("a", corev1.ConditionTrue, "10.1.0.1"),
			[]endpoint{{"10.1.0.1", "n1", "a", "a", true, true, false, discoveryv1.AddressTypeIPv4, 8080}}},
		{"not ready", "its readiness probe fails", service(), pod("a", corev1.ConditionFalse, "10.1.0.1"),
			[]endpoint{{"10.1.0.1", "n1", "a", "a", false, false, false, discoveryv1.AddressTypeIPv4, 8080}}},
		{"terminating", "it still serves", service(), terminating,
			[]endpoint{{"10.1.0.1", "n1", "a", "a", false, true, true, discoveryv1.AddressTypeIPv4, 8080}}},
		{"published", "the Service wants addresses that aren't ready", service(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }),
			pod("a", corev1.ConditionFalse, "10.1.0.1"), []endpoint{{"10.1.0.1", "n1", "a", "a", true, false, false, discoveryv1.AddressTypeIPv4, 8080}}},
		{"dual stack", "each family has a slice", service(func(s *corev1.Service) {
			s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		}), pod("a", corev1.ConditionTrue, "10.1.0.1", "fd00::1"), []endpoint{
			{"10.1.0.1", "n1", "a", "a", true, true, false, discoveryv1.AddressTypeIPv4, 8080},
			{"fd00::1", "n1", "a", "a", true, true, false, discoveryv1.AddressTypeIPv6, 8080},
		}},
		{"ended", "the pod has no containers any more", service(), ended, nil},
		{"no address", "the pod has none yet", service(), pod("a", corev1.ConditionFalse), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			await(t, start(t, test.service, test.pod), test.want)
		})
	}
}

// A slice has the labels and the owner by which clients find it, and follows the changes of pods.
func TestChanges(t *testing.T) {
	t.Parallel()
	client := start(t, service(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }), pod("a", corev1.ConditionTrue, "10.1.0.1"))
	first := endpoint{"10.1.0.1", "n1", "a", "a", true, true, false, discoveryv1.AddressTypeIPv4, 8080}
	await(t, client, []endpoint{first})
	list, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"tier": "web", discoveryv1.LabelServiceName: "s", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io", corev1.IsHeadlessService: "",
	}
	if diff := gocmp.Diff(want, list.Items[0].Labels); diff != "" {
		t.Errorf("the labels differ (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(&list.Items[0]); owner == nil || owner.Kind != "Service" || owner.UID != "s" {
		t.Errorf("want the Service to be the owner, got %v", owner)
	}
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod("b", corev1.ConditionTrue, "10.1.0.2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Address, second.Pod = "10.1.0.2", "b"
	await(t, client, []endpoint{first, second})
	relabelled := pod("a", corev1.ConditionTrue, "10.1.0.1")
	relabelled.Labels, relabelled.ResourceVersion = map[string]string{"app": "y"}, "2"
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Update(t.Context(), relabelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, client, []endpoint{second})
	if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, client, nil)
}

// Services without a selector, and those that are a name elsewhere, get no slices.
func TestServicesOfOthers(t *testing.T) {
	t.Parallel()
	client := start(t,
		service(func(s *corev1.Service) { s.Name, s.Spec.Selector = "manual", nil }),
		service(func(s *corev1.Service) {
			s.Name, s.Spec.Type, s.Spec.ExternalName = "name", corev1.ServiceTypeExternalName, "example.com"
		}),
		service(func(s *corev1.Service) { s.Name = "own" }), pod("a", corev1.ConditionTrue, "10.1.0.1"))
	await(t, client, []endpoint{{"10.1.0.1", "n1", "a", "a", true, true, false, discoveryv1.AddressTypeIPv4, 8080}})
	list, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("want one slice, got %v, %v", list.Items, err)
	}
}
