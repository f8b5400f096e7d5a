package noderestriction

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// serviceAccount lets a kubelet request tokens for pods on its node.
func (p *Plugin) serviceAccount(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetSubresource() != "token" {
		return nil
	}
	request, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	bound := request.Spec.BoundObjectRef
	if bound == nil || bound.APIVersion != "v1" || bound.Kind != "Pod" || bound.Name == "" {
		return errors.New("node requested token not bound to a pod")
	}
	if bound.UID == "" {
		return errors.New("node requested token with a pod binding without a uid")
	}
	pod, err := p.storedPod(ctx, a.GetNamespace(), bound.Name)
	if err != nil {
		return err
	}
	if bound.UID != pod.UID {
		return fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", bound.UID)
	}
	if pod.Spec.NodeName != node {
		return errors.New("node requested token bound to a pod scheduled on a different node")
	}
	if p.anyAudience {
		return nil
	}
	return p.audience(ctx, pod, request.Spec.Audiences, a)
}

// audience lets a kubelet request a token for an audience if a volume of the pod needs it, or if an authorizer
// allows the audience to the kubelet (KEP-4412).
func (p *Plugin) audience(ctx context.Context, pod *corev1.Pod, audiences []string, a admission.Attributes) error {
	if len(audiences) > 1 {
		return errors.New("node may only request 0 or 1 audiences")
	}
	audience := "" // a request without audiences is for the server's own audience
	if len(audiences) == 1 {
		audience = audiences[0]
	}
	found, err := drivers{p.Client}.podNeedsAudience(ctx, pod, audience)
	if err != nil {
		return fmt.Errorf("error validating audience %q: %w", audience, err)
	}
	if found {
		return nil
	}
	allowed, err := p.authorized(ctx, a, "request-serviceaccounts-token-audience", audience, a.GetName())
	switch {
	case err != nil:
		return fmt.Errorf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, a.GetUserInfo().GetName(), err)
	case !allowed:
		return fmt.Errorf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.GetUserInfo().GetName())
	}
	return nil
}

// orMissing returns the error of a read. For a missing object, the error names the object's kind, as kube-apiserver's
// does.
func orMissing(err error, kind schema.GroupResource, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(kind, name)
	}
	return err
}
