package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

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
		{name: "claims", reason: "containers can mount the volumes of the claim templates", change: func(*appsv1.StatefulSet) {}},
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
		{
			name: "host name", reason: "the controller overwrites the hostname and the subdomain of each pod",
			change: func(s *appsv1.StatefulSet) {
				s.Spec.Template.Spec.Hostname, s.Spec.Template.Spec.Subdomain = "a_b", "c_d"
			},
		},
		{
			name: "claim without modes", reason: "claim templates are checked before the number of replicas",
			change: func(s *appsv1.StatefulSet) {
				s.Spec.VolumeClaimTemplates[0].Spec.AccessModes, s.Spec.Replicas = nil, ptr.To[int32](-1)
			},
			want: []string{
				"spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
				"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
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
	registrytest.WantErrors(t, "the number of replicas can change", validateStatefulSetUpdate(scaled, statefulSetWith(func(*appsv1.StatefulSet) {})))

	badClaim := func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec.AccessModes = nil }
	registrytest.WantErrors(t, "stored claim templates can't change, so they stay valid", validateStatefulSetUpdate(statefulSetWith(badClaim), statefulSetWith(badClaim)))

	badPod := func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers = nil }
	registrytest.WantErrors(t, "a stored invalid pod template stays valid", validateStatefulSetUpdate(statefulSetWith(badPod), statefulSetWith(badPod)))
	registrytest.WantErrors(t, "a valid pod template can't become invalid", validateStatefulSetUpdate(statefulSetWith(badPod), statefulSetWith(func(*appsv1.StatefulSet) {})),
		"spec.template.spec.containers: Required value")

	renamed := statefulSetWith(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" })
	registrytest.WantErrors(t, "the name of the service is part of the pods' names and can't change", validateStatefulSetUpdate(renamed, statefulSetWith(func(*appsv1.StatefulSet) {})),
		`spec.serviceName: Invalid value: "other": field is immutable`)
}

func TestUpdateStrategies(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name: "v1", Reason: "a rolling update replaces one pod at a time",
			Manifest: `{apiVersion: apps/v1, kind: StatefulSet}`,
			Path:     "spec.updateStrategy", Want: `{type: RollingUpdate, rollingUpdate: {partition: 0, maxUnavailable: 1}}`,
		},
		{
			Name: "v1beta1", Reason: "the default is the same in older versions",
			Manifest: `{apiVersion: apps/v1beta1, kind: StatefulSet, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {}}}}`,
			Path:     "spec.updateStrategy", Want: `{type: RollingUpdate, rollingUpdate: {partition: 0, maxUnavailable: 1}}`,
		},
		{
			Name: "another strategy", Reason: "kube-apiserver converts no partition to 0, which its errors show",
			Manifest: `{apiVersion: apps/v1, kind: StatefulSet, spec: {updateStrategy: {type: OnDelete, rollingUpdate: {}}}}`,
			Path:     "spec.updateStrategy", Want: `{type: OnDelete, rollingUpdate: {partition: 0}}`,
		},
		{
			Name: "daemon set of another strategy", Reason: "kube-apiserver converts the missing numbers to 0",
			Manifest: `{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete, rollingUpdate: {}}}}`,
			Path:     "spec.updateStrategy", Want: `{type: OnDelete, rollingUpdate: {maxUnavailable: 0, maxSurge: 0}}`,
		},
	})
}

func TestStatefulSetWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "create", Reason: "claim templates are checked; the name is not, since validation requires a DNS label",
			Object: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Generation: 1}, Spec: appsv1.StatefulSetSpec{
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{Spec: corev1.PersistentVolumeClaimSpec{
					Resources: corev1.VolumeResourceRequirements{Limits: corev1.ResourceList{"storage": resource.MustParse("1m")}},
				}}}, RevisionHistoryLimit: ptr.To[int32](-1),
			}},
			Want: []string{
				`spec.volumeClaimTemplates[0].resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`,
				"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
			},
		},
		{
			Name: "update", Reason: "kube-apiserver writes another path of the claim templates in updates",
			Object: &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{Spec: corev1.PersistentVolumeClaimSpec{
					Resources: corev1.VolumeResourceRequirements{Limits: corev1.ResourceList{"storage": resource.MustParse("1m")}},
				}}},
			}},
			Old:  &appsv1.StatefulSet{},
			Want: []string{`spec.volumeClaimTemplates[0].Spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`},
		},
	})
}

func TestStatefulSetDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "on delete",
			Reason:   "only rolling updates have a partition, and claim templates have the defaults of claims",
			Manifest: `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: s, selector: {}, updateStrategy: {type: OnDelete}, template: {spec: {containers: []}}, volumeClaimTemplates: [{metadata: {name: d}}]}}`,
			Path:     "spec.volumeClaimTemplates.0",
			Want:     `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {}}, status: {phase: Pending}}`,
		},
	})
}
