package admissionwebhook

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/cache/synctrack"
)

// source provides the webhooks of all stored configurations, sorted by the name of the configuration.
//
// k8s.io/apiserver's source caches webhook accessors by the name of the configuration. If a configuration changes
// while that source collects the webhooks, the old accessors can stay in its cache for good.
type source[C configuration] struct {
	informer  cache.SharedIndexInformer
	accessors func(C) []webhook.WebhookAccessor
	synced    func() bool
	webhooks  synctrack.Lazy[[]webhook.WebhookAccessor]

	mu sync.Mutex
	// made are the accessors of each stored configuration. The source keeps an accessor, which holds compiled match
	// conditions, until the configuration changes.
	made map[C][]webhook.WebhookAccessor
}

// configuration is a webhook configuration in an informer's store. A change replaces the object in the store.
type configuration interface {
	metav1.Object
	comparable
}

func newSource[C configuration](informer cache.SharedIndexInformer, accessors func(C) []webhook.WebhookAccessor) *source[C] {
	s := &source[C]{informer: informer, accessors: accessors, synced: func() bool { return false }}
	s.webhooks.Evaluate = s.collect
	// AddEventHandler fails only if the informer has stopped.
	if registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.webhooks.Notify() },
		UpdateFunc: func(any, any) { s.webhooks.Notify() },
		DeleteFunc: func(any) { s.webhooks.Notify() },
	}); err == nil {
		s.synced = registration.HasSynced
	}
	return s
}

// HasSynced implements generic.Source.
func (s *source[C]) HasSynced() bool { return s.synced() }

// Webhooks implements generic.Source.
func (s *source[C]) Webhooks() []webhook.WebhookAccessor {
	webhooks, _ := s.webhooks.Get() // collect returns no error
	return webhooks
}

func (s *source[C]) collect() ([]webhook.WebhookAccessor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var configurations []C
	for _, stored := range s.informer.GetStore().List() {
		configurations = append(configurations, stored.(C))
	}
	slices.SortFunc(configurations, func(a, b C) int { return cmp.Compare(a.GetName(), b.GetName()) })
	var all []webhook.WebhookAccessor
	made := make(map[C][]webhook.WebhookAccessor, len(configurations))
	for _, c := range configurations {
		accessors, ok := s.made[c]
		if !ok {
			accessors = s.accessors(c)
		}
		made[c] = accessors
		all = append(all, accessors...)
	}
	s.made = made
	return all, nil
}

func newMutatingSource(f informers.SharedInformerFactory, _ sets.Set[schema.GroupResource]) generic.Source {
	return newSource(f.Admissionregistration().V1().MutatingWebhookConfigurations().Informer(), mutatingAccessors)
}

func newValidatingSource(f informers.SharedInformerFactory, _ sets.Set[schema.GroupResource]) generic.Source {
	return newSource(f.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer(), validatingAccessors)
}

func mutatingAccessors(c *admissionregistrationv1.MutatingWebhookConfiguration) []webhook.WebhookAccessor {
	name := func(w *admissionregistrationv1.MutatingWebhook) string { return w.Name }
	return accessors(c.Name, c.Webhooks, name, webhook.NewMutatingWebhookAccessor)
}

func validatingAccessors(c *admissionregistrationv1.ValidatingWebhookConfiguration) []webhook.WebhookAccessor {
	name := func(w *admissionregistrationv1.ValidatingWebhook) string { return w.Name }
	return accessors(c.Name, c.Webhooks, name, webhook.NewValidatingWebhookAccessor)
}

// accessors returns an accessor for each webhook of a configuration. The uid of an accessor must be unique.
// Webhooks of a v1beta1 configuration may have the same name, so the uid has a number too.
func accessors[W any](configuration string, webhooks []W, name func(*W) string, accessor func(uid, configuration string, w *W) webhook.WebhookAccessor) []webhook.WebhookAccessor {
	all := make([]webhook.WebhookAccessor, len(webhooks))
	times := map[string]int{}
	for i := range webhooks {
		w := &webhooks[i]
		n := name(w)
		all[i] = accessor(fmt.Sprintf("%s/%s/%d", configuration, n, times[n]), configuration, w)
		times[n]++
	}
	return all
}
