package incluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapi-dev/miniapi/pkg/conformance/relay"
)

const (
	// name is the name of every object in the namespace.
	name     = "conformance-webhooks"
	appLabel = "app.kubernetes.io/name"
	// tokenKey is the key in the Secret under which the token is stored.
	tokenKey = "token"
	// controlPort is the name of the port at which the relay accepts links.
	controlPort = "control"
)

// Selector selects the objects of the package.
const Selector = appLabel + "=" + name

// These are the ports of the relay. Both are above 1024, because a container without privileges can't listen on lower
// ports.
const (
	Port    = 8443
	control = 9443
)

// podIP is the environment variable with the address of the pod.
const podIP = "POD_IP"

// relayArguments returns the arguments for the image's entry point. The relay listens only on the pod's address.
func relayArguments() []string {
	return []string{"conformance", "relay", "--bind-address=$(" + podIP + ")", fmt.Sprintf("--port=%d", Port), fmt.Sprintf("--control-port=%d", control)}
}

// objects creates the objects that the relay needs in a namespace.
type objects struct {
	namespace, image string
	labels           map[string]string
}

// meta returns the metadata of an object in the namespace. All of these objects have the same name.
func (o *objects) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: o.allLabels()}
}

func (o *objects) allLabels() map[string]string {
	labels := map[string]string{appLabel: name}
	for key, value := range o.labels {
		labels[key] = value
	}
	return labels
}

func (o *objects) theNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace, Labels: o.allLabels()}}
}

func (o *objects) serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: o.meta(), AutomountServiceAccountToken: new(false)}
}

func (o *objects) secret(token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: o.meta(), StringData: map[string]string{tokenKey: token}}
}

func (o *objects) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: o.meta(), Spec: corev1.ServiceSpec{
		Selector: map[string]string{appLabel: name},
		Ports: []corev1.ServicePort{
			{Name: "webhooks", Port: 443, TargetPort: intstr.FromInt32(Port)},
			{Name: controlPort, Port: control, TargetPort: intstr.FromInt32(control)},
		},
	}}
}

// deployment returns a Deployment that the restricted profile of the Pod Security Standards allows.
func (o *objects) deployment() *appsv1.Deployment {
	container := corev1.Container{
		Name: "relay", Image: o.image, ImagePullPolicy: corev1.PullIfNotPresent,
		Args: relayArguments(),
		Env: []corev1.EnvVar{
			{Name: podIP, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			{Name: relay.TokenVariable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: tokenKey,
			}}},
		},
		Ports: []corev1.ContainerPort{{Name: "webhooks", ContainerPort: Port}, {Name: controlPort, ContainerPort: control}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Scheme: corev1.URISchemeHTTPS, Path: relay.ReadyPath, Port: intstr.FromInt32(control)}},
			PeriodSeconds: 1,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		// The last lines of the log become the message in the pod's status if the relay ends with an error.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	pod := corev1.PodSpec{
		Containers: []corev1.Container{container}, ServiceAccountName: name, AutomountServiceAccountToken: new(false),
		TerminationGracePeriodSeconds: new(int64(1)), EnableServiceLinks: new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	return &appsv1.Deployment{ObjectMeta: o.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), // a link leads to one relay, so there must be no second one
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: o.allLabels()}, Spec: pod},
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
	}}
}
