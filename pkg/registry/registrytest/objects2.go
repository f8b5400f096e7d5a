package registrytest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var AppLabels = map[string]string{"app": "web"}

func AppSelector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: AppLabels} }

func AppTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: AppLabels}, Spec: ValidPodSpec()}
}
