package endpoints

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice/util"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

// withMetrics adds a port that has the same number in all pods.
func withMetrics(s *corev1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 99, TargetPort: intstr.FromInt32(99), Protocol: corev1.ProtocolTCP})
}

func serviceOf(changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Labels: map[string]string{"tier": "web"}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "x"}, ClusterIP: "10.0.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// podOf returns a pod with the port "http".
func podOf(name, ip string, ready corev1.ConditionStatus, port int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": "x"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

// short describes subsets: the ready addresses, those that aren't ready, and the ports.
func short(subsets []corev1.EndpointSubset) (lines []string) {
	names := func(addresses []corev1.EndpointAddress) (all []string) {
		for _, a := range addresses {
			all = append(all, a.TargetRef.Name+"="+a.IP)
		}
		return all
	}
	for _, s := range subsets {
		line := fmt.Sprint(names(s.Addresses), names(s.NotReadyAddresses))
		for _, p := range s.Ports {
			line += fmt.Sprint(" ", p.Port)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSubsets(t *testing.T) {
	t.Parallel()
	terminating := podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)
	terminating.DeletionTimestamp = new(metav1.Now())
	for _, test := range []struct {
		name, reason string
		service      *corev1.Service
		pods         []*corev1.Pod
		want         []string
	}{
		{"ready and not", "a subset has both", serviceOf(), []*corev1.Pod{podOf("b", "10.1.0.2", corev1.ConditionFalse, 8080), podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)},
			[]string{"[a=10.1.0.1] [b=10.1.0.2] 8080"}},
		{"other ports", "the named port is another one in each pod", serviceOf(), []*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080), podOf("b", "10.1.0.2", corev1.ConditionTrue, 9090)},
			[]string{"[a=10.1.0.1] [] 8080", "[b=10.1.0.2] [] 9090"}},
		{"shared port", "all pods serve one of the ports, and each serves another one", serviceOf(withMetrics), []*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080), podOf("b", "10.1.0.2", corev1.ConditionFalse, 9090)},
			[]string{"[a=10.1.0.1] [] 8080", "[] [b=10.1.0.2] 9090", "[a=10.1.0.1] [b=10.1.0.2] 99"}},
		{"two ports", "the pods serve both", serviceOf(withMetrics), []*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080), podOf("b", "10.1.0.2", corev1.ConditionTrue, 8080)},
			[]string{"[a=10.1.0.1 b=10.1.0.2] [] 8080 99"}},
		{"terminating", "the pod is about to go", serviceOf(), []*corev1.Pod{terminating}, nil},
		{"published", "the Service wants all addresses", serviceOf(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }),
			[]*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionFalse, 8080)}, []string{"[a=10.1.0.1] [] 8080"}},
		{"headless without ports", "its clients know the port", serviceOf(func(s *corev1.Service) { s.Spec.Ports, s.Spec.ClusterIP = nil, corev1.ClusterIPNone }),
			[]*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)}, []string{"[a=10.1.0.1] []"}},
		{"IPv6", "it is the first family of the Service", serviceOf(func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }),
			[]*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)}, []string{"[a=fd00::1] [] 8080"}},
		{"no such port", "the pod doesn't serve it", serviceOf(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("other") }),
			[]*corev1.Pod{podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, truncated := subsetsOf(test.service, test.pods)
			if diff := cmp.Diff(test.want, short(got)); diff != "" || truncated {
				t.Errorf("%s: truncated: %t, the subsets differ (-want +got):\n%s", test.reason, truncated, diff)
			}
		})
	}
}

// Of too many addresses, the ready ones stay.
func TestCapacity(t *testing.T) {
	t.Parallel()
	var pods []*corev1.Pod
	for i := range capacity {
		pods = append(pods, podOf(fmt.Sprintf("a%d", i), fmt.Sprintf("10.1.%d.%d", i/256, i%256), corev1.ConditionFalse, 8080))
	}
	pods = append(pods, podOf("ready", "10.2.0.1", corev1.ConditionTrue, 8080))
	subsets, truncated := subsetsOf(serviceOf(), pods)
	if len(subsets) != 1 || len(subsets[0].Addresses) != 1 || len(subsets[0].NotReadyAddresses) != capacity-1 || !truncated {
		t.Errorf("want the ready address and %d others, got %d subsets, truncated: %t", capacity-1, len(subsets), truncated)
	}
}

// The Endpoints of a Service are created, kept if nothing changes, and deleted with the Service.
func TestSync(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		services     []*corev1.Service
		stored       bool // whether the right Endpoints are stored already
		want         []string
	}{
		{"new", "the Service has none", []*corev1.Service{serviceOf()}, false, []string{"create endpoints ns/s"}},
		{"unchanged", "the stored ones are right", []*corev1.Service{serviceOf()}, true, nil},
		{"deleted", "the Service is gone", nil, true, []string{"delete endpoints ns/s"}},
		{"no selector", "others write the Endpoints", []*corev1.Service{serviceOf(func(s *corev1.Service) { s.Spec.Selector = nil })}, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			services, err := controllertest.Informer(test.services...)
			if err != nil {
				t.Fatal(err)
			}
			pod := podOf("a", "10.1.0.1", corev1.ConditionTrue, 8080)
			pods, err := controllertest.Informer(pod)
			if err != nil {
				t.Fatal(err)
			}
			var stored []*corev1.Endpoints
			client := fake.NewSimpleClientset()
			if test.stored {
				subsets, _ := subsetsOf(serviceOf(), []*corev1.Pod{pod})
				stored = append(stored, &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Labels: labelsOf(serviceOf())}, Subsets: subsets})
				client = fake.NewSimpleClientset(stored[0])
			}
			informer, err := controllertest.Informer(stored...)
			if err != nil {
				t.Fatal(err)
			}
			c := &controller{
				Config:   Config{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), Component)},
				services: corelisters.NewServiceLister(services.GetIndexer()), pods: corelisters.NewPodLister(pods.GetIndexer()),
				endpoints: corelisters.NewEndpointsLister(informer.GetIndexer()), triggers: util.NewTriggerTimeTracker(),
			}
			if _, err := c.sync(t.Context(), cache.NewObjectName("ns", "s")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
