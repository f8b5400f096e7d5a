// Package rootca is the controller root-ca-certificate-publisher-controller: it writes a ConfigMap kube-root-ca.crt
// into each namespace. The ConfigMap has the certificates by which pods verify the API server.
//
// [New] starts the controller.
package rootca

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "root-ca-cert-publisher"

	configMap = "kube-root-ca.crt"
	dataKey   = "ca.crt"

	// descriptionAnnotation and description are an annotation of the ConfigMap and its value.
	// kube-controller-manager writes the same annotation.
	descriptionAnnotation = "kubernetes.io/description"
	description           = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	// Client writes ConfigMaps. Reader reads them.
	Client, Reader corev1client.ConfigMapsGetter
	// Namespaces is the informer of namespaces.
	Namespaces cache.SharedIndexInformer
	// RootCA has the certificates, in PEM.
	RootCA []byte
}

// New starts the controller. The returned handler must get the events of ConfigMaps.
func New(config Config) (objects.Handler, error) {
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: "root-ca-certificate-publisher-controller", Do: config.publish})
	return handler{queue}, work.Enqueue(work.Events{Informer: config.Namespaces, Changed: work.Named(queue.Add)})
}

// handler queues a namespace when its ConfigMap is changed or deleted.
type handler struct{ queue *work.Queue[string] }

// Stored implements objects.Handler.
func (h handler) Stored(o objects.Object) {
	if o.Name == configMap && o.Kind == corev1.SchemeGroupVersion.WithKind("ConfigMap") {
		h.queue.Add(o.Namespace)
	}
}

// Deleted implements objects.Handler.
func (h handler) Deleted(o objects.Object) { h.Stored(o) }

// Listed implements objects.Handler.
func (handler) Listed(sets.Set[types.UID]) {}

// publish writes the ConfigMap of a namespace, unless the ConfigMap has the right content.
func (c *Config) publish(ctx context.Context, namespace string) (time.Duration, error) {
	if !work.IsActive(c.Namespaces, namespace) {
		return 0, nil
	}
	data := map[string]string{dataKey: string(c.RootCA)}
	published, err := c.Reader.ConfigMaps(namespace).Get(ctx, configMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = c.Client.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: configMap, Annotations: map[string]string{descriptionAnnotation: description}},
			Data:       data,
		}, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return 0, nil
		}
		return 0, err
	case err != nil:
		return 0, err
	case maps.Equal(published.Data, data) && published.Annotations[descriptionAnnotation] != "":
		return 0, nil
	}
	published.Data = data
	if published.Annotations == nil {
		published.Annotations = map[string]string{}
	}
	published.Annotations[descriptionAnnotation] = description
	_, err = c.Client.ConfigMaps(namespace).Update(ctx, published, metav1.UpdateOptions{})
	return 0, err
}
