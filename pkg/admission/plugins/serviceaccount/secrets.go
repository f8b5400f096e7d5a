package serviceaccount

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// limitAnnotation is an annotation of a service account. It limits the account's pods to the secrets that the
// account lists.
const limitAnnotation = "kubernetes.io/enforce-mountable-secrets"

func limitsSecrets(account *corev1.ServiceAccount) bool {
	limits, err := strconv.ParseBool(account.Annotations[limitAnnotation])
	return err == nil && limits
}

// limitSecrets returns an error if the service account doesn't list a secret that the pod uses: in a secret volume, in
// an environment variable of a container, or to pull images.
func limitSecrets(account *corev1.ServiceAccount, pod *corev1.Pod) error {
	allowed := mountable(account)
	for i := range pod.Spec.Volumes {
		if secret := pod.Spec.Volumes[i].Secret; secret != nil && !allowed.Has(secret.SecretName) {
			return fmt.Errorf("volume with secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret", secret.SecretName, account.Name)
		}
	}
	for _, group := range []struct {
		kind       string
		containers []corev1.Container
	}{{"init container", pod.Spec.InitContainers}, {"container", pod.Spec.Containers}} {
		for i := range group.containers {
			container := &group.containers[i]
			if err := limitEnvironment(allowed, account, group.kind, container.Name, container.Env, container.EnvFrom); err != nil {
				return err
			}
		}
	}

	pullable := sets.New[string]()
	for _, reference := range account.ImagePullSecrets {
		pullable.Insert(reference.Name)
	}
	for i, reference := range pod.Spec.ImagePullSecrets {
		if !pullable.Has(reference.Name) {
			return fmt.Errorf(`imagePullSecrets[%d].name="%s" is not allowed because service account %s does not reference that imagePullSecret`, i, reference.Name, account.Name)
		}
	}
	return nil
}

// limitEphemeralSecrets returns an error if the service account doesn't list a secret that an environment variable of
// an ephemeral container uses.
func limitEphemeralSecrets(account *corev1.ServiceAccount, pod *corev1.Pod) error {
	allowed := mountable(account)
	for i := range pod.Spec.EphemeralContainers {
		container := &pod.Spec.EphemeralContainers[i]
		if err := limitEnvironment(allowed, account, "ephemeral container", container.Name, container.Env, container.EnvFrom); err != nil {
			return err
		}
	}
	return nil
}

func limitEnvironment(allowed sets.Set[string], account *corev1.ServiceAccount, kind, name string, env []corev1.EnvVar, envFrom []corev1.EnvFromSource) error {
	for _, variable := range env {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil && !allowed.Has(from.SecretKeyRef.Name) {
			return fmt.Errorf("%s %s with envVar %s referencing secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret", kind, name, variable.Name, from.SecretKeyRef.Name, account.Name)
		}
	}
	for _, source := range envFrom {
		if source.SecretRef != nil && !allowed.Has(source.SecretRef.Name) {
			return fmt.Errorf("%s %s with envFrom referencing secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret", kind, name, source.SecretRef.Name, account.Name)
		}
	}
	return nil
}

func mountable(account *corev1.ServiceAccount) sets.Set[string] {
	allowed := sets.New[string]()
	for _, reference := range account.Secrets {
		allowed.Insert(reference.Name)
	}
	return allowed
}
