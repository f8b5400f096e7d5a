package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestServiceAccountWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "new annotation", Reason: "an update that adds the annotation gets the warning",
			Object: &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "x"}}},
			Old:    &corev1.ServiceAccount{},
			Want:   []string{"metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"},
		},
		{
			Name: "old annotation", Reason: "an update that keeps the annotation gets no warning",
			Object: &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "x"}}},
			Old:    &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "x"}}},
		},
	})
}

func TestServiceAccountCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "secret of another namespace", Reason: "a service account refers to secrets of its namespace by name only",
			Object: &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "s", Namespace: "other", Kind: "Secret"}}},
			Want:   &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "s"}}},
		},
	})
}
