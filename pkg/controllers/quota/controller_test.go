package quota

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
	}{
		{"new", "the limits are in force when the status has them", quantities{"pods": "2"}, nil, nil,
			quantities{"pods": "1"}, nil, quantities{"pods": "2"}, quantities{"pods": "1"}, nil},
		{"as before", "the status is up to date", quantities{"pods": "2"}, quantities{"pods": "2"},
			quantities{"pods": "1"}, quantities{"pods": "1"}, nil, nil, nil, quantities{}},
		{"as much in other words", "quantities are numbers", quantities{"cpu": "1"}, quantities{"cpu": "1000m"},
			quantities{"cpu": "0.5"}, quantities{"cpu": "500m"}, nil, nil, nil, quantities{}},
		{"other limits", "the usage has only resources with a limit", quantities{"pods": "3"},
			quantities{"pods": "2", "secrets": "1"}, quantities{"pods": "1", "secrets": "1"}, quantities{"pods": "1"},
			nil, quantities{"pods": "3"}, quantities{"pods": "1"}, nil},
		{"not measured", "a resource that can't be measured keeps its last usage",
			quantities{"pods": "2", "secrets": "9"}, quantities{"pods": "2", "secrets": "9"},
			quantities{"pods": "1", "secrets": "4"}, quantities{"pods": "2"}, failure,
			quantities{"pods": "2", "secrets": "9"}, quantities{"pods": "2", "secrets": "4"}, nil},
		{"empty", "the status of a quota without limits is empty", quantities{}, nil, nil, nil, nil, quantities{},
			quantities{}, nil},
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
			c := &controller{decreases: map[string]decrease{}, Config: Config{Client: client.CoreV1(), Quotas: quotas, Measure: func(context.Context, *corev1.ResourceQuota) (corev1.ResourceList, error) {
				return list(test.measured), test.err
			}}}
			again, err := c.sync(t.Context(), "ns/q")
			if !errors.Is(err, test.err) || again != resync {
				t.Errorf("%s: want error %v and another measure after %s, got %v after %s", test.reason, test.err, resync, err, again)
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

// A lower usage is written when the quota hasn't changed for a while. Otherwise the pod that admission has just counted may
// not be stored yet.
func TestDecrease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q", ResourceVersion: "1"}, Spec: corev1.ResourceQuotaSpec{Hard: list(quantities{"pods": "2"})},
			Status: corev1.ResourceQuotaStatus{Hard: list(quantities{"pods": "2"}), Used: list(quantities{"pods": "2"})},
		}
		client := fake.NewClientset(q)
		quotas, err := controllertest.Informer(q)
		if err != nil {
			t.Fatal(err)
		}
		c := &controller{decreases: map[string]decrease{}, Config: Config{Client: client.CoreV1(), Quotas: quotas, Measure: func(context.Context, *corev1.ResourceQuota) (corev1.ResourceList, error) {
			return list(quantities{"pods": "1"}), nil
		}}}
		for _, step := range []struct {
			reason, version string
			after           time.Duration
			want            time.Duration // until the next measurement
			writes          bool
		}{
			{"the usage is lower for the first time", "1", 0, settleDelay, false},
			{"a pod has changed in between", "1", settleDelay / 2, settleDelay / 2, false},
			{"admission has counted another pod", "2", settleDelay / 2, settleDelay, false},
			{"the quota hasn't changed for long enough", "2", settleDelay, confirmDelay, true},
		} {
			time.Sleep(step.after) //nolint:forbidigo // the time is that of the bubble
			changed := q.DeepCopy()
			changed.ResourceVersion = step.version
			if err := quotas.GetStore().Update(changed); err != nil {
				t.Fatal(err)
			}
			again, err := c.sync(t.Context(), "ns/q")
			if writes := len(controllertest.Writes(client.Actions())) > 0; err != nil || again != step.want || writes != step.writes {
				t.Errorf("%s: want another measurement after %s, a write: %t, got %s, %t, %v", step.reason, step.want, step.writes, again, writes, err)
			}
		}
	})
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
