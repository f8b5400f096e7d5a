// Package serviceaccount has the plugin ServiceAccount: a pod without a service account gets the account "default"
// of its namespace. A pod gets a token of its account, unless the pod or the account turns that off
// (automountServiceAccountToken). The plugin doesn't change the mirror pods of kubelets.
//
// The plugin is off by default. It needs a controller that makes the service account "default" in each namespace.
// Without that account, no pod could be created.
package serviceaccount

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "ServiceAccount"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(serviceAccounts, admission.Create, admission.Update)}
}

func serviceAccounts(f informers.SharedInformerFactory) reader.Informer[corelisters.ServiceAccountLister] {
	return f.Core().V1().ServiceAccounts()
}

// Plugin sets the service account of pods, and mounts tokens.
type Plugin struct {
	*reader.ListerHandler[corelisters.ServiceAccountLister]
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// podOf returns the pod of a request that creates a pod or adds ephemeral containers. Only these requests can add
// references to secrets or to a service account. podOf returns nil for other requests.
func podOf(a admission.Attributes) *corev1.Pod {
	created := a.GetSubresource() == "" && a.GetOperation() == admission.Create
	extended := a.GetSubresource() == "ephemeralcontainers" && a.GetOperation() == admission.Update
	if a.GetResource().GroupResource() != corev1.Resource("pods") || !created && !extended {
		return nil
	}
	pod, _ := a.GetObject().(*corev1.Pod)
	return pod
}

// isMirror reports whether the pod is the mirror pod of a static pod. A kubelet makes it.
func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil || a.GetOperation() != admission.Create {
		return nil
	}
	if !isMirror(pod) { // a kubelet would take a changed mirror pod for another pod
		if pod.Spec.ServiceAccountName == "" {
			pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = defaultName, defaultName
		}
		account, err := p.account(ctx, a, pod)
		if err != nil {
			return err
		}
		if automounts(account, pod) {
			mountToken(pod)
		}
		if len(pod.Spec.ImagePullSecrets) == 0 && len(account.ImagePullSecrets) > 0 {
			pod.Spec.ImagePullSecrets = append([]corev1.LocalObjectReference(nil), account.ImagePullSecrets...)
		}
	}
	return p.Validate(ctx, a, o)
}

// automounts reports whether the pod gets a token. The field automountServiceAccountToken of the pod decides. If the
// pod doesn't set the field, the same field of the service account decides. If the service account doesn't set it
// either, the pod gets a token.
func automounts(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	switch {
	case pod.Spec.AutomountServiceAccountToken != nil:
		return *pod.Spec.AutomountServiceAccountToken
	case account.AutomountServiceAccountToken != nil:
		return *account.AutomountServiceAccountToken
	}
	return true
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if a.GetOperation() == admission.Create && isMirror(pod) {
		if err := validateMirror(pod); err != nil {
			return admission.NewForbidden(a, err)
		}
		return nil
	}
	if pod.Spec.ServiceAccountName == "" {
		return admission.NewForbidden(a, fmt.Errorf("no service account specified for pod %s/%s", a.GetNamespace(), pod.Name))
	}
	account, err := p.account(ctx, a, pod)
	if err != nil {
		return err
	}
	if !limitsSecrets(account) {
		return nil
	}
	check := limitSecrets
	if a.GetOperation() == admission.Update {
		check = limitEphemeralSecrets
	}
	if err := check(account, pod); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// validateMirror checks that a mirror pod refers to no service account, secret or service account token. A kubelet
// makes mirror pods, and may read all objects to which its pods refer, so it could gain access.
func validateMirror(pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" {
		return errors.New("a mirror pod may not reference service accounts")
	}
	if podspec.Any(podspec.Secrets(&pod.Spec)) {
		return errors.New("a mirror pod may not reference secrets")
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Projected == nil {
			continue
		}
		for _, source := range pod.Spec.Volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
			}
		}
	}
	return nil
}

// account returns the service account of the pod.
func (p *Plugin) account(ctx context.Context, a admission.Attributes, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	if err := p.AwaitReady(a); err != nil {
		return nil, err
	}
	namespace, name := a.GetNamespace(), pod.Spec.ServiceAccountName
	account, err := reader.Get(ctx, name, p.Lister.ServiceAccounts(namespace).Get, p.Client.CoreV1().ServiceAccounts(namespace).Get)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)
		if name == defaultName {
			if made := p.awaitDefault(ctx, namespace); made != nil {
				return made, nil
			}
		}
	}
	if err != nil {
		return nil, admission.NewForbidden(a, fmt.Errorf("error looking up service account %s/%s: %w", namespace, name, err))
	}
	return account, nil
}
