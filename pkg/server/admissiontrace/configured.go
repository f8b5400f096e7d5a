package admissiontrace

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// configurationReader reads webhook configurations, policies and bindings of policies. It has the permissions of the
// server.
type configurationReader struct {
	admissionregistrationclient.AdmissionregistrationV1Interface
	// runs tells whether an admission plugin is on.
	runs func(plugin string) bool
}

// configured tells whether the admission plugin that uses a webhook configuration or a policy is on. It also returns
// the names of the configuration's webhooks, or of the policy's bindings. If the configuration or policy doesn't exist,
// configured returns the names of all configurations or policies of the same kind.
func (r configurationReader) configured(ctx context.Context, target trace.Reference) (trace.Configured, error) {
	parts := map[string]func(context.Context, string) ([]string, error){
		trace.MutatingConfiguration:   r.mutatingWebhooks,
		trace.ValidatingConfiguration: r.validatingWebhooks,
		trace.MutatingPolicy:          r.mutatingBindings,
		trace.ValidatingPolicy:        r.validatingBindings,
	}[target.Kind]
	configured := trace.Configured{PluginOn: r.runs(trace.PluginOf(target.Kind))}
	names, err := parts(ctx, target.Name)
	if apierrors.IsNotFound(err) {
		configured.Others, err = r.others(ctx, target.Kind)
		return configured, err
	}
	configured.Webhooks = names
	return configured, err
}

// others returns the names of all configurations or policies of a kind.
func (r configurationReader) others(ctx context.Context, kind string) ([]string, error) {
	list, err := map[string]func(context.Context) (runtime.Object, error){
		trace.MutatingConfiguration:   listing(r.MutatingWebhookConfigurations().List),
		trace.ValidatingConfiguration: listing(r.ValidatingWebhookConfigurations().List),
		trace.MutatingPolicy:          listing(r.MutatingAdmissionPolicies().List),
		trace.ValidatingPolicy:        listing(r.ValidatingAdmissionPolicies().List),
	}[kind](ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	err = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			names = append(names, object.GetName())
		}
		return err
	})
	return names, err
}

// listing turns the method List of a client into a function that returns a runtime.Object.
func listing[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) { return list(ctx, metav1.ListOptions{}) }
}

func (r configurationReader) mutatingWebhooks(ctx context.Context, name string) ([]string, error) {
	found, err := r.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return namesOf(found.Webhooks, func(w admissionregistrationv1.MutatingWebhook) (string, bool) { return w.Name, true }), nil
}

func (r configurationReader) validatingWebhooks(ctx context.Context, name string) ([]string, error) {
	found, err := r.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return namesOf(found.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) (string, bool) { return w.Name, true }), nil
}

func (r configurationReader) mutatingBindings(ctx context.Context, policy string) ([]string, error) {
	if _, err := r.MutatingAdmissionPolicies().Get(ctx, policy, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	bindings, err := r.MutatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return namesOf(bindings.Items, func(b admissionregistrationv1.MutatingAdmissionPolicyBinding) (string, bool) {
		return b.Name, b.Spec.PolicyName == policy
	}), nil
}

func (r configurationReader) validatingBindings(ctx context.Context, policy string) ([]string, error) {
	if _, err := r.ValidatingAdmissionPolicies().Get(ctx, policy, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	bindings, err := r.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return namesOf(bindings.Items, func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) (string, bool) {
		return b.Name, b.Spec.PolicyName == policy
	}), nil
}

// namesOf returns the names of the items that belong to a configuration or a policy. The result isn't nil, because nil
// stands for a configuration or policy that doesn't exist.
func namesOf[T any](items []T, belongs func(T) (string, bool)) []string {
	names := []string{}
	for _, item := range items {
		if name, ok := belongs(item); ok {
			names = append(names, name)
		}
	}
	return names
}
