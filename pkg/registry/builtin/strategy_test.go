package builtin_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// generation is metadata with that generation, and nothing else.
func generation(n int64) metav1.ObjectMeta { return metav1.ObjectMeta{Generation: n} }

func TestPrepareForCreate(t *testing.T) {
	t.Parallel()
	ctx := genericapirequest.WithUser(through(corev1.SchemeGroupVersion),
		&user.DefaultInfo{Name: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}})
	for _, test := range []struct {
		name, reason    string
		group, resource string
		obj, want       runtime.Object
	}{
		{
			name: "pod", reason: "what a client says of its status is not so; gates hold the scheduler back (KEP-3521)",
			resource: "pods",
			obj: &corev1.Pod{
				Spec:   corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			},
			want: &corev1.Pod{
				ObjectMeta: generation(1),
				Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
					Message: "Scheduling is blocked due to non-empty scheduling gates",
				}}},
			},
		},
		{
			name: "node with sick storage", reason: "the health of storage is not desired state",
			group: "storage.k8s.io", resource: "csinodes",
			obj: &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: []storagev1.StorageHealth{{Name: "d.e"}}}}, want: &storagev1.CSINode{},
		},
		{
			name: "pod with label keys", reason: "the values are the pod's own; a term without a selector stays without",
			resource: "pods",
			obj: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"}},
				Spec: corev1.PodSpec{
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{LabelSelector: &metav1.LabelSelector{}, MismatchLabelKeys: []string{"a", "missing"}},
						{MatchLabelKeys: []string{"a"}},
					}}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"a"}}},
				},
			},
			want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "1"}},
				Spec: corev1.PodSpec{
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{
							LabelSelector:     &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "NotIn", Values: []string{"1"}}}},
							MismatchLabelKeys: []string{"a", "missing"},
						},
						{MatchLabelKeys: []string{"a"}},
					}}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						LabelSelector:  &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"1"}}}},
						MatchLabelKeys: []string{"a"},
					}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort},
			},
		},
		{
			name: "pod with an AppArmor annotation", reason: "old clients have no other way (KEP-24); a profile that the pod has, too, needs no field",
			resource: "pods",
			obj: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
					"container.apparmor.security.beta.kubernetes.io/a": "localhost/x",
					"container.apparmor.security.beta.kubernetes.io/b": "unconfined",
				}},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Unconfined"}},
					Containers:      []corev1.Container{{Name: "a"}, {Name: "b"}},
				},
			},
			want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{
					"container.apparmor.security.beta.kubernetes.io/a": "localhost/x",
					"container.apparmor.security.beta.kubernetes.io/b": "unconfined",
				}},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Unconfined"}},
					Containers: []corev1.Container{
						{Name: "a", SecurityContext: &corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Localhost", LocalhostProfile: ptr.To("x")}}},
						{Name: "b"},
					},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort},
			},
		},
		{
			name: "daemon set", reason: "the first template is the first generation",
			group: "apps", resource: "daemonsets",
			obj: &appsv1.DaemonSet{},
			want: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Generation: 1, Annotations: map[string]string{"deprecated.daemonset.template.generation": "1"},
			}},
		},
		{
			name: "job", reason: "it selects its pods by its uid, unless told to select others; a value that is there stays",
			group: "batch", resource: "jobs",
			obj: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u"},
				Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job-name": "mine"}}}},
			},
			want: &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u", Generation: 1},
				Spec: batchv1.JobSpec{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "u"}},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
						"job-name": "mine", "batch.kubernetes.io/job-name": "j", "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u",
					}}},
				},
			},
		},
		{
			name: "job with a selector of its own", reason: "manualSelector says hands off",
			group: "batch", resource: "jobs",
			obj:  &batchv1.Job{Spec: batchv1.JobSpec{ManualSelector: ptr.To(true)}},
			want: &batchv1.Job{ObjectMeta: generation(1), Spec: batchv1.JobSpec{ManualSelector: ptr.To(true)}},
		},
		{
			name: "signing request", reason: "the server sets the author, and clients can't create approved requests",
			group: "certificates.k8s.io", resource: "certificatesigningrequests",
			obj: &certificatesv1.CertificateSigningRequest{
				Spec:   certificatesv1.CertificateSigningRequestSpec{Username: "root", Groups: []string{"system:masters"}, SignerName: "s"},
				Status: certificatesv1.CertificateSigningRequestStatus{Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved"}}},
			},
			want: &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
				Username: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string]certificatesv1.ExtraValue{"k": {"v"}}, SignerName: "s",
			}},
		},
		{
			name: "node", reason: "kubelets register with their status",
			resource: "nodes",
			obj:      &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "a"}}}},
			want:     &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "a"}}}},
		},
		{
			name: "service account", reason: "its secrets are in its namespace, whatever the references say",
			resource: "serviceaccounts",
			obj:      &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "s", Namespace: "other", Kind: "Secret"}}},
			want:     &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "s"}}},
		},
		{
			name: "claim from a snapshot", reason: "dataSource and dataSourceRef say the same (KEP-1495)",
			resource: "persistentvolumeclaims",
			obj: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource: &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"},
			}},
			want: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource:    &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"},
				DataSourceRef: &corev1.TypedObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"},
			}},
		},
		{
			name: "claim from something else", reason: "dataSource never took it, and dropped it in silence",
			resource: "persistentvolumeclaims",
			obj: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource: &corev1.TypedLocalObjectReference{APIGroup: ptr.To("example.com"), Kind: "Populator", Name: "p"},
			}},
			want: &corev1.PersistentVolumeClaim{},
		},
		{
			name: "claim that is bound", reason: "only a controller knows that it is; Pending is the default of a claim that is read",
			resource: "persistentvolumeclaims",
			obj:      &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
			want:     &corev1.PersistentVolumeClaim{},
		},
		{
			name: "claim from another namespace", reason: "the gate CrossNamespaceVolumeDataSource is off",
			resource: "persistentvolumeclaims",
			obj: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSourceRef: &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "c", Namespace: ptr.To("other")},
			}},
			want: &corev1.PersistentVolumeClaim{},
		},
		{
			name: "coordinated lease", reason: "the gate CoordinatedLeaderElection is off",
			group: "coordination.k8s.io", resource: "leases",
			obj: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("a"), PreferredHolder: ptr.To("b"), Strategy: ptr.To(coordinationv1.OldestEmulationVersion),
			}},
			want: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a")}},
		},
		{
			name: "endpoint slice", reason: "v1 has no topology",
			group: "discovery.k8s.io", resource: "endpointslices",
			obj:  &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{DeprecatedTopology: map[string]string{"kubernetes.io/hostname": "n"}}}},
			want: &discoveryv1.EndpointSlice{ObjectMeta: generation(1), Endpoints: []discoveryv1.Endpoint{{}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{}).PrepareForCreate(ctx, test.obj)
			if diff := cmp.Diff(test.want, test.obj, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	daemonSet := func(image, annotation string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Generation: 4, Annotations: map[string]string{"deprecated.daemonset.template.generation": annotation}},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
			}},
		}
	}
	for _, test := range []struct {
		name, reason    string
		group, resource string
		obj, old        runtime.Object
		want            int64
		annotation      string
	}{
		{
			name: "spec", reason: "the desired state changed",
			group: "apps", resource: "replicasets",
			obj:  &appsv1.ReplicaSet{ObjectMeta: generation(4), Spec: appsv1.ReplicaSetSpec{MinReadySeconds: 1}},
			old:  &appsv1.ReplicaSet{ObjectMeta: generation(4)},
			want: 5,
		},
		{
			name: "annotation", reason: "metadata is not desired state",
			group: "apps", resource: "replicasets",
			obj:  &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 4, Annotations: map[string]string{"a": "b"}}},
			old:  &appsv1.ReplicaSet{ObjectMeta: generation(4)},
			want: 4,
		},
		{
			name: "annotation of a deployment", reason: "its controller copies them to replica sets",
			group: "apps", resource: "deployments",
			obj:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 4, Annotations: map[string]string{"a": "b"}}},
			old:  &appsv1.Deployment{ObjectMeta: generation(4)},
			want: 5,
		},
		{
			name: "labels of an endpoint slice", reason: "they say what service it is of",
			group: "discovery.k8s.io", resource: "endpointslices",
			obj:  &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Generation: 4, Labels: map[string]string{"a": "b"}}},
			old:  &discoveryv1.EndpointSlice{ObjectMeta: generation(4)},
			want: 5,
		},
		{
			name: "priority class", reason: "it has none but the first",
			group: "scheduling.k8s.io", resource: "priorityclasses",
			obj:  &schedulingv1.PriorityClass{ObjectMeta: generation(1), Description: "new"},
			old:  &schedulingv1.PriorityClass{ObjectMeta: generation(1)},
			want: 1,
		},
		{
			name: "tokens of a driver", reason: "the kubelet asks for others from now on",
			group: "storage.k8s.io", resource: "csidrivers",
			obj:  &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "a"}}}},
			old:  &storagev1.CSIDriver{},
			want: 1,
		},
		{
			name: "labels of a driver", reason: "metadata is not desired state",
			group: "storage.k8s.io", resource: "csidrivers",
			obj:  &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "b"}}},
			old:  &storagev1.CSIDriver{ObjectMeta: generation(1)},
			want: 1,
		},
		{
			name: "service CIDR", reason: "it has none at all",
			group: "networking.k8s.io", resource: "servicecidrs",
			obj: &networkingv1.ServiceCIDR{Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/8"}}},
			old: &networkingv1.ServiceCIDR{},
		},
		{
			name: "template of a daemon set", reason: "templates are counted apart, and not by clients",
			group: "apps", resource: "daemonsets",
			obj: daemonSet("new", "99"), old: daemonSet("old", "7"),
			want: 5, annotation: "8",
		},
		{
			name: "same template of a daemon set", reason: "a client that leaves the annotation out doesn't reset it",
			group: "apps", resource: "daemonsets",
			obj: daemonSet("old", "0"), old: daemonSet("old", "7"),
			want: 4, annotation: "7",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{}).PrepareForUpdate(through(schema.GroupVersion{}), test.obj, test.old)
			m := registry.MetaOf(test.obj)
			if got := m.GetGeneration(); got != test.want {
				t.Errorf("generation %d, want %d: %s", got, test.want, test.reason)
			}
			if got := m.GetAnnotations()["deprecated.daemonset.template.generation"]; got != test.annotation {
				t.Errorf("template generation %q, want %q: %s", got, test.annotation, test.reason)
			}
		})
	}
}

func TestPrepareForStatusUpdate(t *testing.T) {
	t.Parallel()
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	request := func(conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{Status: certificatesv1.CertificateSigningRequestStatus{Conditions: conditions}}
	}
	for _, test := range []struct {
		name, reason    string
		group, resource string
		obj, old, want  runtime.Object
	}{
		{
			name: "pod", reason: "old kubelets omit the class of service and the kind of owners; the status endpoint keeps the spec",
			resource: "pods",
			obj: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "spoilt"}}},
				Spec:       corev1.PodSpec{NodeName: "other"},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: "A"}, {Type: "A"}}},
			},
			old: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2, OwnerReferences: []metav1.OwnerReference{{Name: "o", APIVersion: "v1"}}},
				Spec:       corev1.PodSpec{NodeName: "n"},
				Status: corev1.PodStatus{
					QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 2,
					Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}},
				},
			},
			want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2, OwnerReferences: []metav1.OwnerReference{{Name: "o", APIVersion: "v1"}}},
				Spec:       corev1.PodSpec{NodeName: "n"},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 2,
					Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}},
				},
			},
		},
		{
			name: "deployment", reason: "labels are not the controller's to change, annotations are",
			group: "apps", resource: "deployments",
			obj:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "new"}, Annotations: map[string]string{"b": "new"}}},
			old:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "old"}}},
			want: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "old"}, Annotations: map[string]string{"b": "new"}}},
		},
		{
			name: "service CIDR", reason: "its status endpoint changes status alone; another object is refused, not taken for this one",
			group: "networking.k8s.io", resource: "servicecidrs",
			obj: &networkingv1.ServiceCIDR{
				ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other", Annotations: map[string]string{"a": "new"}},
				Status:     networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
			},
			old: &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "this", UID: "this"}},
			want: &networkingv1.ServiceCIDR{
				ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other"},
				Status:     networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
			},
		},
		{
			name: "signing request", reason: "an approval stays as it was given; the time of a transition is kept while nothing changes",
			group: "certificates.k8s.io", resource: "certificatesigningrequests",
			obj: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "forged"},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastUpdateTime: long},
			),
			old: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "given", LastUpdateTime: long, LastTransitionTime: long},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastTransitionTime: long},
			),
			want: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "given", LastUpdateTime: long, LastTransitionTime: long},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastUpdateTime: long, LastTransitionTime: long},
			),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registry.StatusStrategy{Strategy: builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{})}.PrepareForUpdate(context.Background(), test.obj, test.old)
			if diff := cmp.Diff(test.want, test.obj); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestVolumePhase is apart from the others because it sets the time.
func TestVolumePhase(t *testing.T) {
	t.Parallel()
	s := builtin.Table().Strategy(row(t, "", "persistentvolumes"), registry.Dependencies{})
	volume := &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
	s.PrepareForCreate(context.Background(), volume)
	if volume.Status.Phase != corev1.VolumePending || volume.Status.LastPhaseTransitionTime == nil {
		t.Errorf("a volume is created as %+v, want pending since now", volume.Status)
	}
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	volume.Status.LastPhaseTransitionTime = &long
	bound := volume.DeepCopy()
	bound.Status.Phase = corev1.VolumeBound
	registry.StatusStrategy{Strategy: s}.PrepareForUpdate(context.Background(), bound, volume)
	if bound.Status.LastPhaseTransitionTime.Equal(&long) {
		t.Error("a change of phase keeps the time of the last one")
	}
}

func TestGracefulPodDelete(t *testing.T) {
	t.Parallel()
	running := corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: ptr.To[int64](30)}}
	unscheduled, finished := *running.DeepCopy(), *running.DeepCopy()
	unscheduled.Spec.NodeName = ""
	finished.Status.Phase = corev1.PodSucceeded
	for _, test := range []struct {
		name, reason string
		pod          corev1.Pod
		asked        *int64
		want         int64
	}{
		{name: "its own", reason: "the pod knows what it needs", pod: running, want: 30},
		{name: "asked for", reason: "the options of the deletion come first", pod: running, asked: ptr.To[int64](5), want: 5},
		{name: "at once", reason: "zero is a period, too", pod: running, asked: ptr.To[int64](0), want: 0},
		{name: "negative", reason: "such pods were once created; they end as fast as can be", pod: running, asked: ptr.To[int64](-1), want: 1},
		{name: "unscheduled", reason: "there is no kubelet to wait for", pod: unscheduled, asked: ptr.To[int64](5), want: 0},
		{name: "finished", reason: "there is nothing left to stop", pod: finished, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := &metav1.DeleteOptions{GracePeriodSeconds: test.asked}
			s := builtin.Table().Strategy(row(t, "", "pods"), registry.Dependencies{})
			if !s.CheckGracefulDelete(context.Background(), &test.pod, options) || *options.GracePeriodSeconds != test.want {
				t.Errorf("%d seconds, want %d: %s", *options.GracePeriodSeconds, test.want, test.reason)
			}
		})
	}
}

func TestDefaultGarbageCollectionPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason    string
		group, resource string
		through         schema.GroupVersion
		want            rest.GarbageCollectionPolicy
	}{
		{
			name: "deployment", reason: "apps/v1 cleans up",
			group: "apps", resource: "deployments", through: schema.GroupVersion{Group: "apps", Version: "v1"},
			want: rest.DeleteDependents,
		},
		{
			name: "deployment of old", reason: "clients of old versions cleaned up themselves",
			group: "apps", resource: "deployments", through: schema.GroupVersion{Group: "extensions", Version: "v1beta1"},
			want: rest.OrphanDependents,
		},
		{
			name: "job", reason: "batch/v1 is as old as those",
			group: "batch", resource: "jobs", through: schema.GroupVersion{Group: "batch", Version: "v1"},
			want: rest.OrphanDependents,
		},
		{
			name: "event", reason: "nothing depends on events",
			resource: "events", through: schema.GroupVersion{Version: "v1"},
			want: rest.Unsupported,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{}).DefaultGarbageCollectionPolicy(through(test.through))
			if got != test.want {
				t.Errorf("%v, want %v: %s", got, test.want, test.reason)
			}
		})
	}
}
