package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/extensions"
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
		{name: "least", reason: "a minimal deployment with defaults is valid", change: func(*appsv1.Deployment) {}},
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
			name: "rollback", reason: "apps/v1 has the revision of a rollback in an annotation, and older versions have it in the spec",
			change: func(d *appsv1.Deployment) {
				metav1.SetMetaDataAnnotation(&d.ObjectMeta, "deprecated.deployment.rollback.to", "-1")
			},
			want: []string{"spec.rollback.version: Invalid value: -1: must be greater than or equal to 0"},
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
			name: "more than all", reason: "no more than all pods can be unavailable, even if the percentage is greater than an int",
			change: func(d *appsv1.Deployment) {
				d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("99999999999999999999%"))
			},
			want: []string{"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"99999999999999999999%\": must not be greater than 100%"},
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
	registrytest.WantErrors(t, "the selector of a deployment can't change", validateDeploymentUpdate(moved, deploymentWith(func(*appsv1.Deployment) {})),
		`spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable`)

	counted := deploymentWith(func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 2, AvailableReplicas: -1}
	})
	before := deploymentWith(func(d *appsv1.Deployment) { d.Status.CollisionCount = ptr.To[int32](1) })
	registrytest.WantErrors(t, "counts are not negative, and at most the number of replicas", validateDeploymentStatusUpdate(counted, before),
		"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0",
		"status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
		"status.collisionCount: Invalid value: 0: cannot be decremented")
}

func TestDeploymentColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "empty selector", Reason: "an empty selector is shown as an empty cell, unlike the selectors of other workloads",
			Object: &appsv1.Deployment{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{},
					Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "one"}, {Name: "b", Image: "two"}}}}},
				Status: appsv1.DeploymentStatus{ReadyReplicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2},
			},
			Want: []any{"x", "2/3", int64(1), int64(2), "30d", "a,b", "one,two", ""},
		},
	})
}

func TestDeploymentWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "create", Reason: "the name and the template are checked, since both become part of the pods",
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1},
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}}},
			Want: []string{
				"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; " +
					"a DNS label is recommended: [must not contain dots]", `spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
		{
			Name: "unchanged generation", Reason: "an update without a new generation doesn't repeat warnings",
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1},
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}}},
			Old: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1}},
		},
		{
			Name: "new generation", Reason: "an update repeats the warnings about the template, but not the warnings about the name",
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 2},
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}}}},
			Old:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1}},
			Want: []string{`spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}

func TestDeploymentDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group, extensions.Group), []registrytest.DefaultsCase{
		{
			Name:     "extensions/v1beta1",
			Reason:   "extensions/v1beta1 replaces one pod at a time, without a deadline, and selects the labels of the template",
			Manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, spec: {template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}`,
			Path:     "spec",
			Want: `
replicas: 1
selector: {matchLabels: {a: b}}
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}
revisionHistoryLimit: 2147483647
progressDeadlineSeconds: 2147483647
template: {metadata: {labels: {a: b}}, spec: {containers: [], dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}}
`,
		},
	})
}

func TestDeploymentGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{
		{
			Name:   "annotation",
			Reason: "the deployment controller copies annotations to replica sets, so a change increases the generation",
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 4, Annotations: map[string]string{"a": "b"}}},
			Old:    &appsv1.Deployment{ObjectMeta: registrytest.Generation(4)},
			Want:   5,
		},
	})
}

func TestDeploymentStatusUpdate(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "labels and annotations", Reason: "the status endpoint keeps labels and takes annotations",
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "new"}, Annotations: map[string]string{"b": "new"}}},
			Status: true, Old: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "old"}}},
			Want: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "old"}, Annotations: map[string]string{"b": "new"}}},
		},
	})
}
