package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodTemplateWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old node label", Reason: "the path has no spec before the template",
			Object: &corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}},
			Want:   []string{`template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}

func TestPodTemplateErrors(t *testing.T) {
	t.Parallel()
	o := &corev1.PodTemplate{ObjectMeta: registrytest.Stored("t"), Template: corev1.PodTemplateSpec{Spec: registrytest.ValidPodSpec()}}
	o.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}}
	defaults.PodTemplateSpec(&o.Template)
	registrytest.WantErrors(t, "an image volume needs a reference, in a template, too", validatePodTemplate(o),
		"template.spec.volumes[0].image.reference: Required value")
}

func TestPodTemplateDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "host network",
			Reason:   "requests, service links and host ports get their defaults in pods only",
			Manifest: `{apiVersion: v1, kind: PodTemplate, template: {spec: {hostNetwork: true, containers: [{name: c, image: i:1, resources: {limits: {cpu: 1}}, ports: [{containerPort: 80}]}]}}}`,
			Path:     "template.spec",
			Want: `
hostNetwork: true
restartPolicy: Always
dnsPolicy: ClusterFirst
schedulerName: default-scheduler
securityContext: {}
terminationGracePeriodSeconds: 30
containers:
- name: c
  image: i:1
  imagePullPolicy: IfNotPresent
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
  resources: {limits: {cpu: "1"}}
  ports: [{containerPort: 80, protocol: TCP}]
`,
		},
	})
}
