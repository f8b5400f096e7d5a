package admissionwebhook

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// If a configuration changes while the source collects webhooks, the source provides the new webhooks afterwards.
func TestSourceOfAConfigurationThatChanges(t *testing.T) {
	t.Parallel()
	type client = *fake.Clientset
	named := func(webhook string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "c"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: webhook}},
		}
	}
	for _, tc := range []struct {
		name, reason string
		change       func(context.Context, client) error
	}{
		{"updated", "the same object has other webhooks", func(ctx context.Context, c client) error {
			_, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(ctx, named("after"), metav1.UpdateOptions{})
			return err
		}},
		{"made anew", "another object has the configuration's name", func(ctx context.Context, c client) error {
			configurations := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			if err := configurations.Delete(ctx, "c", metav1.DeleteOptions{}); err != nil {
				return err
			}
			_, err := configurations.Create(ctx, named("after"), metav1.CreateOptions{})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(named("before"))
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer()
			collecting, changed := make(chan struct{}), make(chan struct{})
			var first sync.Once
			s := newSource(informer, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) []webhook.WebhookAccessor {
				first.Do(func() { close(collecting); <-changed })
				return validatingAccessors(c)
			})
			factory.StartWithContext(t.Context())
			if !cache.WaitForCacheSync(t.Context().Done(), s.HasSynced) {
				t.Fatal("the informer hasn't synced")
			}
			until := func(condition func() bool) error {
				return wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
			}

			before := make(chan []webhook.WebhookAccessor, 1)
			go func() { before <- s.Webhooks() }()
			<-collecting
			if err := tc.change(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			if err := until(func() bool {
				stored, _, _ := informer.GetStore().GetByKey("c")
				c, ok := stored.(*admissionregistrationv1.ValidatingWebhookConfiguration)
				return ok && c.Webhooks[0].Name == "after"
			}); err != nil {
				t.Fatalf("the informer hasn't seen the change: %v", err)
			}
			close(changed)
			<-before
			var uids []string
			if err := until(func() bool {
				uids = nil
				for _, w := range s.Webhooks() {
					uids = append(uids, w.GetUID())
				}
				return cmp.Equal([]string{"c/after/0"}, uids)
			}); err != nil {
				t.Errorf("%s: want the webhook after the change, got %v", tc.reason, uids)
			}
		})
	}
}
