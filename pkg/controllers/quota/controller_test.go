package quota

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

func list(of map[corev1.ResourceName]string) corev1.ResourceList {
	if of == nil {
		return nil
	}
	all := corev1.ResourceList{}
	for name, quantity := range of {
		all[name] = resource.MustParse(quantity)
	}
	return all
}

type quantities = map[corev1.ResourceName]string

func TestSync(t *testing.T) {
	t.Parallel()
	failure := errors.New("no list")
	for _, test := range []struct {
		name, reason                 string
		spec, hard, used             quantities
		measured                     quantities
		err                          error
		wantHard, wantUsed, wantNone quantities // wantNone is set if nothing must be written
		confirms                     bool       // the quota is measured again after confirmDelay
	}{
		{"new", "the limits are in force when the status has them", quantities{"pods": "2"}, nil, nil,
			quantities{"pods": "1"}, nil, quantities{"pods": "2"}, quantities{"pods": "1"}, nil, false},
		{"as before", "the status is up to date", quantities{"pods": "2"}, quantities{"pods": "2"},
			quantities{"pods": "1"}, quantities{"pods": "1"}, nil, nil, nil, quantities{}, false},
		{"as much in other words", "quantities are numbers", quantities{"cpu": "1"}, quantities{"cpu": "1000m"},
			quantities{"cpu": "0.5"}, quantities{"cpu": "500m"}, nil, nil, nil, quantities{}, false},
		{"fewer", "the usage doesn't count deleted objects", quantities{"pods": "2"}, quantities{"pods": "2"},
			quantities{"pods": "2"}, quantities{"pods": "0"}, nil, quantities{"pods": "2"}, quantities{"pods": "0"},
			nil, true},
		{"other limits", "the usage has only resources with a limit", quantities{"pods": "3"},
			quantities{"pods": "2", "secrets": "1"}, quantities{"pods": "1", "secrets": "1"}, quantities{"pods": "1"},
			nil, quantities{"pods": "3"}, quantities{"pods": "1"}, nil, false},
		{"not measured", "a resource that can't be measured keeps its last usage",
			quantities{"pods": "2", "secrets": "9"}, quantities{"pods": "2", "secrets": "9"},
			quantities{"pods": "1", "secrets": "4"}, quantities{"pods": "2"}, failure,
			quantities{"pods": "2", "secrets": "9"}, quantities{"pods": "2", "secrets": "4"}, nil, false},
		{"empty", "the status of a quota without limits is empty", quantities{}, nil, nil, nil, nil, quantities{},
			quantities{}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: list(test.spec)},
				Status: corev1.ResourceQuotaStatus{Hard: list(test.hard), Used: list(test.used)},
			}
			client := fake.NewClientset(q)
			quotas, err := controllertest.Informer(q)
			if err != nil {
				t.Fatal(err)
			}
			c := &controller{Config: Config{Client: client.CoreV1(), Quotas: quotas, Measure: func(context.Context, *corev1.ResourceQuota) (corev1.ResourceList, error) {
				return list(test.measured), test.err
			}}}
			again, err := c.sync(t.Context(), "ns/q")
			wantAgain := resync
			if test.confirms {
				wantAgain = confirmDelay
			}
			if !errors.Is(err, test.err) || again != wantAgain {
				t.Errorf("%s: want error %v and another measure after %s, got %v after %s", test.reason, test.err, wantAgain, err, again)
			}
			writes := controllertest.Writes(client.Actions())
			if test.wantNone != nil {
				if len(writes) > 0 {
					t.Errorf("%s: want no write, got %v", test.reason, writes)
				}
				return
			}
			if diff := cmp.Diff([]string{"update resourcequotas/status ns/q"}, writes); diff != "" {
				t.Fatalf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
			got, err := client.CoreV1().ResourceQuotas("ns").Get(t.Context(), "q", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(corev1.ResourceQuotaStatus{Hard: list(test.wantHard), Used: list(test.wantUsed)}, got.Status); diff != "" && len(test.wantHard)+len(test.wantUsed) > 0 {
				t.Errorf("%s: the status differs (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A quota is measured after a write if its status doesn't have its limits yet. If the status has the limits,
// the write may come from admission, which counts an object before the object is stored. Then the quota
// isn't measured.
func TestInForce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason     string
		spec, hard, used quantities
		want             bool
	}{
		{"new", "the status is empty", quantities{"pods": "2"}, nil, nil, false},
		{"measured", "the status has the limits", quantities{"pods": "2"}, quantities{"pods": "2"}, quantities{"pods": "1"}, true},
		{"in other words", "quantities are numbers", quantities{"cpu": "1"}, quantities{"cpu": "1000m"}, quantities{"cpu": "0"}, true},
		{"changed", "the new limit isn't in the status", quantities{"pods": "3"}, quantities{"pods": "2"}, quantities{"pods": "1"}, false},
		{"fewer limits", "the former limit is in the status", quantities{"pods": "2"},
			quantities{"pods": "2", "secrets": "1"}, quantities{"pods": "1"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: list(test.spec)}, Status: corev1.ResourceQuotaStatus{Hard: list(test.hard), Used: list(test.used)}}
			if got := inForce(q); got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
