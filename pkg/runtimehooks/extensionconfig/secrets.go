package extensionconfig

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// listTimeout bounds the first list of a Secret.
const listTimeout = 10 * time.Second

// injectCA copies the caBundle of an ExtensionConfig from the Secret that an annotation names, and stores the
// ExtensionConfig.
func (c *Controller) injectCA(ctx context.Context, config *runtimev1.ExtensionConfig) (*runtimev1.ExtensionConfig, error) {
	reference, wanted := config.Annotations[runtimev1.InjectCAFromSecretAnnotation]
	if !wanted {
		c.secrets.forget(config.Name)
		return config, nil
	}
	namespace, name, ok := strings.Cut(reference, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		c.secrets.forget(config.Name)
		return config, fmt.Errorf("annotation %s is %q, and must be NAMESPACE/NAME of a Secret", runtimev1.InjectCAFromSecretAnnotation, reference)
	}
	if err := c.secrets.follow(ctx, config.Name, types.NamespacedName{Namespace: namespace, Name: name}); err != nil {
		return config, fmt.Errorf("annotation %s: %w", runtimev1.InjectCAFromSecretAnnotation, err)
	}
	secret, err := c.options.Kubernetes.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return config, fmt.Errorf("annotation %s: %w", runtimev1.InjectCAFromSecretAnnotation, err)
	}
	ca := secret.Data[corev1.ServiceAccountRootCAKey]
	if len(ca) == 0 {
		return config, fmt.Errorf("annotation %s: Secret %s must have the key %s", runtimev1.InjectCAFromSecretAnnotation, reference, corev1.ServiceAccountRootCAKey)
	}
	if bytes.Equal(ca, config.Spec.ClientConfig.CABundle) {
		return config, nil
	}
	stored, err := c.patch(ctx, config.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": config.ResourceVersion},
		"spec":     map[string]any{"clientConfig": map[string]any{"caBundle": ca}},
	})
	if err != nil {
		return config, err
	}
	return stored, nil
}

// secrets watches the Secrets that ExtensionConfigs name, one for each ExtensionConfig.
type secrets struct {
	client  kubernetes.Interface
	changed func(config string)
	running sync.WaitGroup

	mu       sync.Mutex
	followed map[string]followed // the watched Secrets, by the name of the ExtensionConfig
}

type followed struct {
	secret types.NamespacedName
	stop   context.CancelFunc
}

// newSecrets returns a value that watches no Secret yet. When a watched Secret changes, appears or is deleted, the
// value calls the function "changed" with the name of the ExtensionConfig.
func newSecrets(client kubernetes.Interface, changed func(string)) *secrets {
	return &secrets{client: client, changed: changed, followed: map[string]followed{}}
}

// follow watches the Secret of an ExtensionConfig until ctx ends or forget stops the watch. It stops a watch of another
// Secret for the same ExtensionConfig. If follow returns nil, the watch misses no later change.
func (s *secrets) follow(ctx context.Context, config string, secret types.NamespacedName) error {
	s.mu.Lock()
	known := s.followed[config].secret == secret
	s.mu.Unlock()
	if known {
		return nil
	}
	informer := coreinformers.NewFilteredSecretInformer(s.client, secret.Namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, secret.Name).String()
	})
	changed := func(any) { s.changed(config) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial { // the caller reads the existing Secret itself
				changed(obj)
			}
		},
		UpdateFunc: func(_, is any) { changed(is) },
		DeleteFunc: changed,
	}); err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	s.running.Go(func() { informer.RunWithContext(following) })
	limited, cancel := context.WithTimeoutCause(ctx, listTimeout, fmt.Errorf("the Secret %s wasn't listed and watched within %s", secret, listTimeout))
	defer cancel()
	select {
	case <-informer.HasSyncedChecker().Done():
	case <-limited.Done():
		stop()
		return context.Cause(limited)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(config)
	s.followed[config] = followed{secret, stop}
	return nil
}

// forget stops the watch for an ExtensionConfig.
func (s *secrets) forget(config string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(config)
}

func (s *secrets) forgetLocked(config string) {
	if f, ok := s.followed[config]; ok {
		f.stop()
		delete(s.followed, config)
	}
}
