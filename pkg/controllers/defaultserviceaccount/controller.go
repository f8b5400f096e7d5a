// Package defaultserviceaccount is the controller serviceaccount-controller: it makes a service account "default" in each
// namespace. A pod whose spec names no service account gets this account.
//
// [New] starts the controller.
package defaultserviceaccount

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's own service account.
	Account = "service-account-controller"

	// defaultName is the name of the service account that the controller makes.
	defaultName = "default"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.ServiceAccountsGetter
	// Namespaces and Accounts are the informers of namespaces and service accounts.
	Namespaces, Accounts cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: "serviceaccount-controller", Do: config.ensure})
	return work.Enqueue(
		work.Events{Informer: config.Namespaces, Changed: work.Named(queue.Add)},
		work.Events{Informer: config.Accounts, Deleted: func(o metav1.Object) { queue.Add(o.GetNamespace()) }},
	)
}

// ensure makes the service account of a namespace, if it doesn't exist.
func (c *Config) ensure(ctx context.Context, name string) (time.Duration, error) {
	if !work.IsActive(c.Namespaces, name) {
		return 0, nil
	}
	if _, exists, err := c.Accounts.GetStore().GetByKey(name + "/" + defaultName); exists || err != nil {
		return 0, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: defaultName}}
	_, err := c.Client.ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return 0, nil
	}
	return 0, err
}
