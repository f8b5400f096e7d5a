package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// SetUp adds the controller and the webhooks to a manager.
func SetUp(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &Website{}).WithDefaulter(webhooks{}).WithValidator(webhooks{}).Complete(); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&Website{}).Owns(&appsv1.Deployment{}).Complete(&controller{mgr.GetClient()})
}

type controller struct{ client.Client }

// Reconcile creates or updates the deployment of a website.
func (c *controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	website := &Website{}
	if err := c.Get(ctx, request.NamespacedName, website); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: website.Namespace, Name: website.Name}}
	_, err := ctrl.CreateOrUpdate(ctx, c.Client, deployment, func() error {
		labels := map[string]string{"website": website.Name}
		deployment.Spec.Replicas = &website.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: website.Spec.Image}}
		return ctrl.SetControllerReference(website, deployment, c.Scheme())
	})
	return ctrl.Result{}, err
}

// maxReplicas is the largest number of replicas that the validating webhook allows.
const maxReplicas = 10

type webhooks struct{}

// Default sets the number of replicas to two if the website has none.
func (webhooks) Default(_ context.Context, website *Website) error {
	if website.Spec.Replicas == 0 {
		website.Spec.Replicas = 2
	}
	return nil
}

// ValidateCreate implements admission.Validator.
func (webhooks) ValidateCreate(_ context.Context, website *Website) (admission.Warnings, error) {
	if website.Spec.Replicas > maxReplicas {
		return nil, fmt.Errorf("spec.replicas: %d must be at most %d", website.Spec.Replicas, maxReplicas)
	}
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (w webhooks) ValidateUpdate(ctx context.Context, _, website *Website) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, website)
}

// ValidateDelete implements admission.Validator.
func (webhooks) ValidateDelete(context.Context, *Website) (admission.Warnings, error) {
	return nil, nil
}
