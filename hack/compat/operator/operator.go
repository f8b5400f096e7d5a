// Package operator is a small operator. hack/test-compat.sh compiles it and runs its tests with each version of
// Kubernetes and controller-runtime that package miniapitest supports, so it uses only functions that all
// versions have.
package operator

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// SetUp adds the controller to a manager. The controller replaces the data of each config map by seen=true, unless the
// data has seen=true already.
func SetUp(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(&controller{mgr.GetClient()})
}

type controller struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (c *controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	seen := &corev1.ConfigMap{}
	err := c.Get(ctx, request.NamespacedName, seen)
	switch {
	case apierrors.IsNotFound(err), err == nil && seen.Data["seen"] == "true":
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	marked := seen.DeepCopy()
	marked.Data = map[string]string{"seen": "true"}
	return ctrl.Result{}, c.Patch(ctx, marked, client.MergeFrom(seen))
}

// Webhook returns a webhook that refuses config maps with the name "forbidden".
func Webhook() http.Handler {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		return admission.ValidationResponse(r.Name != "forbidden", "it is called so")
	})}
}
