package serviceaccount

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// defaultName is the service account of pods without one.
const defaultName = "default"

// defaultTimeout limits the wait for the account "default" of a namespace. kube-apiserver looks for this account ten
// times, at intervals of 100 to 200 ms.
const defaultTimeout = 2 * time.Second

// awaitDefault waits until the account "default" of a namespace exists, because a controller makes the account only
// after the namespace. It returns nil if the account isn't made in time, or can't be watched.
func (p *Plugin) awaitDefault(ctx context.Context, namespace string) *corev1.ServiceAccount {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	// A watch without a resourceVersion begins with an event for the account if the account exists.
	w, err := p.Client.CoreV1().ServiceAccounts(namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, defaultName).String(),
	})
	if err != nil {
		return nil
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.ResultChan():
			if !ok {
				return nil
			}
			if account, is := event.Object.(*corev1.ServiceAccount); is && event.Type != watch.Deleted {
				return account
			}
		}
	}
}
