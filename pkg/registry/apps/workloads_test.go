package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func deploymentWith(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: registrytest.Stored("d"), Spec: appsv1.DeploymentSpec{Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
	defaultDeployment(d)
	change(d)
	return d
}

func TestDeployment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*appsv1.Deployment)
		want         []string
	}{
		{name: "least", reason: "defaults complete the smallest deployment", change: func(*appsv1.Deployment) {}},
		{
			name: "no selector", reason: "a missing selector selects nothing",
			change: func(d *appsv1.Deployment) { d.Spec.Selector = nil },
			want: []string{
				"spec.selector: Required value",
				"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
			},
		},
		{
			name: "empty selector", reason: "a deployment must not own every pod",
			change: func(d *appsv1.Deployment) { d.Spec.Selector = &metav1.LabelSelector{} },
			want:   []string{"spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
		},
		{
			name: "numbers", reason: "numbers are not negative, and the progress deadline is longer than minReadySeconds",
			change: func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Spec.MinReadySeconds = ptr.To[int32](-1), 600
			},
			want: []string{
				"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
				"spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
			},
		},
		{
			name: "standstill", reason: "a rollout has to be able to replace pods",
			change: func(d *appsv1.Deployment) {
				zero := intstr.FromString("0%")
				d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = &zero, &zero
			},
			want: []string{"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"},
		},
		{
			name: "recreate", reason: "recreation has no parameters for rolling",
			change: func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
			want:   []string{"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
		},
		{
			name: "template", reason: "the pods of a deployment never end",
			change: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
				d.Spec.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
			},
			want: []string{
				`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
				"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateDeployment(deploymentWith(tc.change)), tc.want...)
		})
	}
}

func TestDeploymentUpdate(t *testing.T) {
	t.Parallel()
	other := map[string]string{"app": "other"}
	moved := deploymentWith(func(d *appsv1.Deployment) {
		d.Spec.Selector, d.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: other}, other
	})
	registrytest.WantErrors(t, "a deployment keeps its pods", validateDeploymentUpdate(moved, deploymentWith(func(*appsv1.Deployment) {})),
		`spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable`)

	counted := deploymentWith(func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 2, AvailableReplicas: -1}
	})
	before := deploymentWith(func(d *appsv1.Deployment) { d.Status.CollisionCount = ptr.To[int32](1) })
	registrytest.WantErrors(t, "counts are of the same pods", validateDeploymentStatusUpdate(counted, before),
		"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0",
		"status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
		"status.collisionCount: Invalid value: 0: cannot be decremented")
}

func TestReplicaSet(t *testing.T) {
	t.Parallel()
	build := func(replicas int32) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{ObjectMeta: registrytest.Stored("r"), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
		defaultReplicaSet(r)
		return r
	}
	const negative = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
	registrytest.WantErrors(t, "replicas are counted", validateReplicaSet(build(-1)), negative)
	registrytest.WantErrors(t, "kube-apiserver checks a changed spec twice", validateReplicaSetUpdate(build(-1), build(1)), negative, negative)
}

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	build := func(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
		d := &appsv1.DaemonSet{ObjectMeta: registrytest.Stored("d"), Spec: appsv1.DaemonSetSpec{Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
		defaultDaemonSet(d)
		change(d)
		return d
	}
	registrytest.WantErrors(t, "defaults make the least daemon set whole", validateDaemonSet(build(func(*appsv1.DaemonSet) {})))
	registrytest.WantErrors(t, "a daemon is replaced before or after, not both",
		validateDaemonSet(build(func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1)) })),
		"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero")
	registrytest.WantErrors(t, "the type of a strategy is known",
		validateDaemonSet(build(func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: "Never"} })),
		`spec.updateStrategy: Unsupported value: {"Type":"Never","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`)
}

func statefulSetWith(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{ObjectMeta: registrytest.Stored("s"), Spec: appsv1.StatefulSetSpec{Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: registrytest.Quantities("storage", "1Gi")},
		},
	}}
	s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	defaultStatefulSet(s)
	change(s)
	return s
}

func TestStatefulSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*appsv1.StatefulSet)
		want         []string
	}{
		{name: "claims", reason: "pods have the volumes of the claims", change: func(*appsv1.StatefulSet) {}},
		{
			name: "policies", reason: "the policies have to be known",
			change: func(s *appsv1.StatefulSet) {
				s.Spec.PodManagementPolicy, s.Spec.UpdateStrategy = "Random", appsv1.StatefulSetUpdateStrategy{}
			},
			want: []string{
				`spec.podManagementPolicy: Invalid value: "Random": must be 'OrderedReady' or 'Parallel'`,
				"spec.updateStrategy: Required value",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateStatefulSet(statefulSetWith(tc.change)), tc.want...)
		})
	}
}

func TestStatefulSetUpdate(t *testing.T) {
	t.Parallel()
	scaled := statefulSetWith(func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](3) })
	registrytest.WantErrors(t, "it scales", validateStatefulSetUpdate(scaled, statefulSetWith(func(*appsv1.StatefulSet) {})))

	renamed := statefulSetWith(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" })
	registrytest.WantErrors(t, "what its pods are known by stays", validateStatefulSetUpdate(renamed, statefulSetWith(func(*appsv1.StatefulSet) {})),
		"spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "+
			"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
}

func TestControllerRevision(t *testing.T) {
	t.Parallel()
	revision := func(raw string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{ObjectMeta: registrytest.Stored("r"), Revision: 1, Data: runtime.RawExtension{Raw: []byte(raw)}}
	}
	registrytest.WantErrors(t, "a revision may move", validateControllerRevisionUpdate(
		&appsv1.ControllerRevision{ObjectMeta: registrytest.Stored("r"), Revision: 2, Data: runtime.RawExtension{Raw: []byte(`{"a":1}`)}}, revision(`{"a":1}`)))
	if errs := validateControllerRevisionUpdate(revision(`{"a":2}`), revision(`{"a":1}`)); len(errs) != 1 || errs[0].Field != "data" {
		t.Errorf("what a revision keeps never changes: want an error for data, got %v", errs)
	}
}
