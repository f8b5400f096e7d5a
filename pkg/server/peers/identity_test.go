package peers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

func TestServerID(t *testing.T) {
	t.Parallel()
	id := ServerID("host", "127.0.0.1:6443")
	if !strings.HasPrefix(id, "apiserver-") || strings.ToLower(id) != id {
		t.Errorf("%q isn't the name of a Lease", id)
	}
	for _, other := range []string{ServerID("host", "127.0.0.1:6444"), ServerID("other", "127.0.0.1:6443")} {
		if other == id {
			t.Errorf("%q names two servers", id)
		}
	}
	if again := ServerID("host", "127.0.0.1:6443"); again != id {
		t.Errorf("the server has another name when it starts again: %q and %q", id, again)
	}
}

// collect deletes a Lease with the label of servers if the Lease has expired or has no time of renewal.
func TestCollect(t *testing.T) {
	t.Parallel()
	now := time.Now()
	lease := func(name string, renewed *metav1.MicroTime, labels map[string]string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: labels},
			Spec:       coordinationv1.LeaseSpec{RenewTime: renewed, LeaseDurationSeconds: ptr.To[int32](60)},
		}
	}
	ago := func(d time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: now.Add(-d)} }
	ofServer := map[string]string{identityLabel: identity}
	tests := []struct {
		name, reason string
		lease        *coordinationv1.Lease
		stays        bool
	}{
		{"renewed", "a running server renews its Lease", lease("renewed", ago(59*time.Second), ofServer), true},
		{"expired", "a server that has ended doesn't renew its Lease", lease("expired", ago(61*time.Second), ofServer), false},
		{"never", "no server writes such a Lease", lease("never", nil, ofServer), false},
		{"another", "the Lease doesn't belong to a server", lease("another", ago(time.Hour), nil), true},
	}
	client := fake.NewClientset()
	for _, test := range tests {
		if err := client.Tracker().Add(test.lease); err != nil {
			t.Fatal(err)
		}
	}
	collect(context.Background(), client, now)
	list, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		if stays := slices.ContainsFunc(list.Items, func(l coordinationv1.Lease) bool { return l.Name == test.name }); stays != test.stays {
			t.Errorf("%s: stays %v, want %v: %s", test.name, stays, test.stays, test.reason)
		}
	}
}
