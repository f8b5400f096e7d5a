package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Clients need some of the objects that every cluster has, so the server creates them again when they are deleted, and
// restores them when they are changed.
func TestMaintainedObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags("--advertise-address=192.0.2.1"))
	client, ctx := srv.Client(), t.Context()

	trusts := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	const trust = "extension-apiserver-authentication"
	first := must(trusts.Get(ctx, trust, metav1.GetOptions{}))(t)
	ok(t, trusts.Delete(ctx, trust, metav1.DeleteOptions{}))
	var again *corev1.ConfigMap
	eventually(t, func(ctx context.Context) (err error) {
		again, err = trusts.Get(ctx, trust, metav1.GetOptions{})
		return err
	})
	if diff := cmp.Diff(first.Data, again.Data); diff != "" || again.UID == first.UID {
		t.Errorf("the authorities after a deletion (-first +again):\n%s", diff)
	}
	again.Data = map[string]string{"client-ca-file": "", "other": "kept"}
	must(trusts.Update(ctx, again, metav1.UpdateOptions{}))(t)
	want := map[string]string{"other": "kept"}
	for key, value := range first.Data {
		want[key] = value
	}
	eventually(t, func(ctx context.Context) error {
		restored, err := trusts.Get(ctx, trust, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, restored.Data); diff != "" {
			return errors.New("the authorities after a change (-want +got):\n" + diff)
		}
		return nil
	})

	const name = "kubernetes"
	for _, test := range []struct {
		name, reason string
		delete       func(context.Context, string, metav1.DeleteOptions) error
		get          func(context.Context) error
	}{
		{"Service", "pods find the server by its name", client.CoreV1().Services("default").Delete, func(ctx context.Context) error {
			_, err := client.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{"Endpoints", "clients of the Service connect to them", client.CoreV1().Endpoints("default").Delete, func(ctx context.Context) error {
			_, err := client.CoreV1().Endpoints("default").Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{"EndpointSlice", "proxies read it instead of the Endpoints", client.DiscoveryV1().EndpointSlices("default").Delete, func(ctx context.Context) error {
			_, err := client.DiscoveryV1().EndpointSlices("default").Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{"ServiceCIDR", "Services get their addresses from it", client.NetworkingV1().ServiceCIDRs().Delete, func(ctx context.Context) error {
			_, err := client.NetworkingV1().ServiceCIDRs().Get(ctx, name, metav1.GetOptions{})
			return err
		}},
	} {
		if err := test.delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		eventually(t, func(ctx context.Context) error {
			if err := test.get(ctx); err != nil {
				return errors.Join(errors.New(test.name+": "+test.reason), err)
			}
			return nil
		})
	}
}
