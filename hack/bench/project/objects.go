package project

import (
	"fmt"
	"strings"
)

// Objects returns 30 objects of an operator in YAML. The argument text is part of one object, so a different text gives
// different objects.
func Objects(text string) string {
	documents := []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
		fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: text, namespace: shop}, data: {text: %q}}", text),
	}
	for n := range 4 {
		for _, object := range []string{
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME, namespace: shop}}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: NAME, namespace: shop}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: NAME, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}, subjects: [{kind: ServiceAccount, name: NAME, namespace: shop}]}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: shop}, data: {a: b}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: NAME, namespace: shop}, stringData: {a: b}}",
			"{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: shop}, spec: {selector: {app: NAME}, ports: [{port: 80}]}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: shop}, spec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: c}]}}}}",
		} {
			documents = append(documents, strings.ReplaceAll(object, "NAME", fmt.Sprint("part", n)))
		}
	}
	return strings.Join(documents, "\n---\n")
}

// Configurations returns three webhook configurations in YAML. The address of their webhooks is the service hooks in
// the namespace shop. The webhooks get the requests that create Deployments.
func Configurations() string {
	var documents []string
	for n, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		documents = append(documents, fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: hooks%d}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: shop, name: hooks, path: /hook}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]`, kind, n))
	}
	return strings.Join(documents, "\n---\n")
}
