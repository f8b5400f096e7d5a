package scheduler

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// claiming returns a pod with the claim c.
func claiming() *podInfo {
	return newPodInfo(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"},
		}}}},
	})
}

// A pod whose claim doesn't exist is refused by the first plugin that looks at it, so it isn't tried again when volumes change.
func TestMissingClaim(t *testing.T) {
	t.Parallel()
	claims := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().PersistentVolumeClaims().Lister()
	r := (&cycle{pod: claiming(), storage: storage{claims: claims}}).prepare()
	if r == nil || r.by != "VolumeRestrictions" || !slices.Equal(r.reasons, []string{`persistentvolumeclaim "c" not found`}) {
		t.Errorf("want a refusal by VolumeRestrictions, got %+v", r)
	}
}

// A pod that a plugin has refused is tried again after changes of storage that may help it, and after no others.
func TestStorageHints(t *testing.T) {
	t.Parallel()
	pod := claiming()
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	}
	volume := func(zone string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	class := func(mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
		return &storagev1.StorageClass{VolumeBindingMode: &mode, AllowedTopologies: []corev1.TopologySelectorTerm{
			{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones}}},
		}}
	}
	capacity := func(size string) *storagev1.CSIStorageCapacity {
		return &storagev1.CSIStorageCapacity{Capacity: new(apiresource.MustParse(size))}
	}
	driver := func(publishes bool) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{StorageCapacity: &publishes}}
	}
	node := func(limit int32) *storagev1.CSINode {
		return &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}
	}
	const immediate, delayed = storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	for _, test := range []struct {
		name, reason  string
		hint          func(pod *podInfo, before, after metav1.Object) bool
		before, after metav1.Object
		want          bool
	}{
		{"claim made", "the pod names it", usedVolumesAfterStorage, nil, claim("c"), true},
		{"claim changed", "its access modes can't change", usedVolumesAfterStorage, claim("c"), claim("c"), false},
		{"claim of another pod", "the pod doesn't name it", usedVolumesAfterStorage, nil, claim("d"), false},

		{"CSINode made", "its limits may be higher than those of the others", limitsAfterStorage, nil, node(0), true},
		{"limit raised", "there is room", limitsAfterStorage, node(1), node(2), true},
		{"limit lowered", "there is less room", limitsAfterStorage, node(2), node(1), false},
		{"CSINode deleted", "kube-scheduler doesn't look at this", limitsAfterStorage, node(1), nil, false},
		{"detached", "there is room", limitsAfterStorage, &storagev1.VolumeAttachment{}, nil, true},
		{"attached", "there is less room", limitsAfterStorage, nil, &storagev1.VolumeAttachment{}, false},
		{"claim for the limits made", "the pod names it", limitsAfterStorage, nil, claim("c"), true},
		{"claim for the limits changed", "it takes the same room", limitsAfterStorage, claim("c"), claim("c"), false},

		{"claim bound", "the pod names it", volumesAfterStorage, claim("c"), claim("c"), true},
		{"other claim bound", "the pod doesn't name it", volumesAfterStorage, claim("d"), claim("d"), false},
		{"volume changed", "it may be free", volumesAfterStorage, volume("a"), volume("a"), true},
		{"volume deleted", "there are fewer volumes", volumesAfterStorage, volume("a"), nil, false},
		{"class made", "claims of the class can be bound", volumesAfterStorage, nil, class(immediate), true},
		{"class for more zones", "a node may be in them", volumesAfterStorage, class(delayed, "a"), class(delayed, "a", "b"), true},
		{"class otherwise changed", "what it allows is the same", volumesAfterStorage, class(delayed, "a"), class(delayed, "a"), false},
		{"capacity published", "there may be enough", volumesAfterStorage, nil, capacity("1Gi"), true},
		{"capacity grown", "there may be enough", volumesAfterStorage, capacity("1Gi"), capacity("2Gi"), true},
		{"capacity shrunk", "there was too little before", volumesAfterStorage, capacity("2Gi"), capacity("1Gi"), false},
		{"capacity not looked at any more", "the driver has enough", volumesAfterStorage, driver(true), driver(false), true},
		{"capacity looked at", "the driver had enough before", volumesAfterStorage, driver(false), driver(true), false},

		{"volume in another zone", "a node may be in it", zonesAfterStorage, volume("a"), volume("b"), true},
		{"volume in the same zone", "it refuses the same nodes", zonesAfterStorage, volume("a"), volume("a"), false},
		{"volume made", "the claim may be bound to it", zonesAfterStorage, nil, volume("a"), true},
		{"delayed class made", "the claim needs no volume yet", zonesAfterStorage, nil, class(delayed), true},
		{"immediate class made", "the claim needs a volume", zonesAfterStorage, nil, class(immediate), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.hint(pod, test.before, test.after); got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
