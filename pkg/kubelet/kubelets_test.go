package kubelet

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
)

// Templates are checked against the names of the functions that they have.
func TestFunctionNames(t *testing.T) {
	t.Parallel()
	got := slices.Sorted(maps.Keys(New(Options{}).functions()))
	if want := slices.Sorted(slices.Values(stages.FunctionNames())); !slices.Equal(got, want) {
		t.Errorf("want the functions %q, got %q", want, got)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	a := newAddresses()
	cidr := []string{"10.0.0.0/29"}
	give := func(pod string) string {
		t.Helper()
		ips, err := a.give(types.UID(pod), cidr)
		if err != nil {
			return err.Error()
		}
		return ips[0]
	}
	a.keep(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "old"}, Status: corev1.PodStatus{PodIP: "10.0.0.3", PodIPs: []corev1.PodIP{{IP: "10.0.0.3"}}}})
	for _, step := range []struct{ pod, want, reason string }{
		{"a", "10.0.0.2", "the first two addresses are those of the network and the node"},
		{"a", "10.0.0.2", "a pod keeps its address"},
		{"b", "10.0.0.4", "an address is in use since before the start"},
		{"-a", "", ""},
		{"c", "10.0.0.5", "an address isn't used again at once"},
		{"d", "10.0.0.6", "the last one is left"},
		{"e", "10.0.0.2", "a freed address is used again"},
		{"!c", "", ""},
		{"g", "10.0.0.5", "a pod that has ended frees its address"},
		{"f", "the range 10.0.0.0/29 has no free address for a pod", "the address for broadcasts isn't used"},
	} {
		if name, released := strings.CutPrefix(step.pod, "-"); released {
			a.release(types.UID(name))
		} else if name, ended := strings.CutPrefix(step.pod, "!"); ended {
			a.keep(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}, Status: corev1.PodStatus{
				Phase: corev1.PodSucceeded, PodIP: "10.0.0.5", PodIPs: []corev1.PodIP{{IP: "10.0.0.5"}}}})
		} else if got := give(step.pod); got != step.want {
			t.Errorf("%s: want %s for pod %s, got %s", step.reason, step.want, step.pod, got)
		}
	}
}

// Every node has a range of its own, and the nodes without one share a range that overlaps with no other.
func TestRanges(t *testing.T) {
	t.Parallel()
	shared := netip.MustParsePrefix(sharedCIDR)
	seen := map[netip.Prefix]bool{}
	for i := range MaxNodes {
		own, err := netip.ParsePrefix(podCIDR(i))
		if err != nil || seen[own] || own.Overlaps(shared) {
			t.Fatalf("node %d has the range %s, which is invalid or not its own: %v", i, podCIDR(i), err)
		}
		seen[own] = true
	}
	a := newAddresses()
	for i := range 1000 {
		if _, err := a.give(types.UID(strconv.Itoa(i)), []string{sharedCIDR}); err != nil {
			t.Fatalf("pod %d of nodes without a range: %v", i, err)
		}
	}
}
