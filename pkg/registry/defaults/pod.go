package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// PodTemplateSpec sets the defaults of the pod template in a workload.
func PodTemplateSpec(t *corev1.PodTemplateSpec) {
	DropInitContainerAnnotations(t.Annotations)
	PodSpec(&t.Spec)
}

// PodSpec sets the defaults of the spec of a pod or of a pod template.
func PodSpec(s *corev1.PodSpec) {
	Zero(&s.DNSPolicy, corev1.DNSClusterFirst)
	Zero(&s.RestartPolicy, corev1.RestartPolicyAlways)
	Zero(&s.SchedulerName, corev1.DefaultSchedulerName)
	Pointer(&s.SecurityContext, corev1.PodSecurityContext{})
	Pointer(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))

	// serviceAccount is the old name of serviceAccountName. Both always have the same value.
	Zero(&s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = s.ServiceAccountName

	for i := range s.Volumes {
		volume(&s.Volumes[i])
	}
	for i := range s.InitContainers {
		container(&s.InitContainers[i])
	}
	for i := range s.Containers {
		container(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		container((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
	ResourceList(s.Overhead)
	if s.Resources != nil {
		ResourceRequirements(s.Resources)
	}
}

func container(c *corev1.Container) {
	imagePullPolicy(&c.ImagePullPolicy, c.Image)
	Zero(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	Zero(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		Zero(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			fieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				Pointer(&from.FileKeyRef.Optional, false)
			}
		}
	}
	ResourceRequirements(&c.Resources)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		probe(p)
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				httpGet(h.HTTPGet)
			}
		}
	}
}

func probe(p *corev1.Probe) {
	if p == nil {
		return
	}
	Zero(&p.TimeoutSeconds, 1)
	Zero(&p.PeriodSeconds, 10)
	Zero(&p.SuccessThreshold, 1)
	Zero(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		Pointer(&p.GRPC.Service, "")
	}
}

func httpGet(a *corev1.HTTPGetAction) {
	if a != nil {
		Zero(&a.Path, "/")
		Zero(&a.Scheme, corev1.URISchemeHTTP)
	}
}

func fieldRef(r *corev1.ObjectFieldSelector) {
	if r != nil {
		Zero(&r.APIVersion, "v1")
	}
}

// DropInitContainerAnnotations removes the annotations in which Kubernetes 1.5 stored the init containers of a pod.
func DropInitContainerAnnotations(annotations map[string]string) {
	for _, name := range [...]string{
		"pod.beta.kubernetes.io/init-containers",
		"pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses",
		"pod.alpha.kubernetes.io/init-container-statuses",
	} {
		delete(annotations, name)
	}
}
