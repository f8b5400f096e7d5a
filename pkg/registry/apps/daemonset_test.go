package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestDaemonSet(t *testing.T) {
	t.Parallel()
	build := func(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
		d := &appsv1.DaemonSet{ObjectMeta: registrytest.Stored("d"), Spec: appsv1.DaemonSetSpec{Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
		defaultDaemonSet(d)
		change(d)
		return d
	}
	registrytest.WantErrors(t, "a minimal daemon set with defaults is valid", validateDaemonSet(build(func(*appsv1.DaemonSet) {})))
	registrytest.WantErrors(t, "a rolling update either surges or makes pods unavailable",
		validateDaemonSet(build(func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1)) })),
		"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero")
	registrytest.WantErrors(t, "the type of the update strategy has to be known",
		validateDaemonSet(build(func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: "Never"} })),
		`spec.updateStrategy: Unsupported value: {"Type":"Never","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`)
	registrytest.WantErrors(t, "an update checks the selector, and then the spec once",
		validateDaemonSetUpdate(build(func(d *appsv1.DaemonSet) {
			d.Spec.Selector, d.Spec.MinReadySeconds = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}, -1
			d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
		}), build(func(*appsv1.DaemonSet) {})),
		`spec.selector: Invalid value: {"matchLabels":{"tier":"web"}}: field is immutable`,
		"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0")
}

func TestDaemonSetWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name:   "AppArmor annotation",
			Reason: "the server copies the annotation to the field in pods only, so a template gets the warning",
			Object: &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "x"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
			}}},
			Want: []string{`spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`},
		},
		{
			Name:   "AppArmor annotation in a template that stays",
			Reason: "an update that keeps the template gets no warning about the template",
			Object: &appsv1.DaemonSet{ObjectMeta: registrytest.Generation(2), Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "x"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
			}}},
			Old: &appsv1.DaemonSet{ObjectMeta: registrytest.Generation(1)},
		},
	})
}

func TestDaemonSetColumnDescriptions(t *testing.T) {
	t.Parallel()
	const want = "numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition."
	for _, column := range daemonSetColumns.Columns {
		if column.Name == "Ready" && column.Description != want {
			t.Errorf("the description of the column %s is %q: kube-apiserver has the text of apps/v1", column.Name, column.Description)
		}
	}
}

func TestDaemonSetCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "template generation", Reason: "the generation of the first template is 1",
			Object: &appsv1.DaemonSet{},
			Want: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Generation: 1, Annotations: map[string]string{"deprecated.daemonset.template.generation": "1"},
			}},
		},
	})
}

// TestDaemonSetTemplateGeneration checks that the server counts the changes of the pod template in an annotation.
func TestDaemonSetTemplateGeneration(t *testing.T) {
	t.Parallel()
	build := func(image, annotation string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Generation: 4,
				Annotations: map[string]string{"deprecated.daemonset.template.generation": annotation}},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
			}},
		}
	}
	for _, tc := range []struct {
		name, reason   string
		obj, old       *appsv1.DaemonSet
		want           int64
		wantAnnotation string
	}{
		{
			name: "new template", reason: "the server counts templates and ignores the annotation of the request",
			obj: build("new", "99"), old: build("old", "7"),
			want: 5, wantAnnotation: "8",
		},
		{
			name: "same template", reason: "the server keeps the annotation if the request has another value",
			obj: build("old", "0"), old: build("old", "7"),
			want: 4, wantAnnotation: "7",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.Strategy(t, registrytest.Table(t, Group), tc.obj).PrepareForUpdate(t.Context(), tc.obj, tc.old)
			if tc.obj.Generation != tc.want {
				t.Errorf("generation %d, want %d: %s", tc.obj.Generation, tc.want, tc.reason)
			}
			if got := tc.obj.Annotations["deprecated.daemonset.template.generation"]; got != tc.wantAnnotation {
				t.Errorf("template generation %q, want %q: %s", got, tc.wantAnnotation, tc.reason)
			}
		})
	}
}

// TestTemplateGenerationAnnotation checks the versions of DaemonSet that have no field for the template's
// generation. In these versions, the server sets the annotation, like kube-apiserver's conversions.
func TestTemplateGenerationAnnotation(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, Group)
	counted := map[string]string{appsv1.DeprecatedTemplateGeneration: "7"}
	for _, test := range []struct {
		name, reason, want string
		object             interface {
			runtime.Object
			metav1.Object
		}
	}{
		{"v1", "the template hasn't changed yet", "0", &appsv1.DaemonSet{}},
		{"v1beta2", "the version has the fields of v1", "0", &appsv1beta2.DaemonSet{}},
		{"counted", "the server has counted changes", "7", &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: counted}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table.Scheme().Default(test.object)
			if got := test.object.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]; got != test.want {
				t.Errorf("the generation is %q, want %q: %s", got, test.want, test.reason)
			}
		})
	}
}
