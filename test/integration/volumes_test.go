package integration_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/persistentvolume"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A pod gets the volumes of its claims, also of a class that waits for the pod. When the pod and the claim are deleted, so
// is the volume.
func TestVolumesOfPods(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withScheduler(), withControllers("persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
		"persistentvolume-protection-controller"))
	client := kubernetes.NewForConfigOrDie(srv.Config())
	createNodes(t, client, 1)
	if _, err := client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "delayed"}, Provisioner: persistentvolume.Provisioner, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods, claims := client.CoreV1().Pods(metav1.NamespaceDefault), client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	for name, class := range map[string]*string{"immediate": nil, "delayed": new("delayed")} {
		if _, err := claims.Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	watched, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watched.Stop)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range watched.ResultChan() {
		if event.Object.(*corev1.Pod).Spec.NodeName != "" {
			break
		}
	}
	for _, v := range pod.Spec.Volumes {
		claim := must(claims.Get(t.Context(), v.Name, metav1.GetOptions{}))(t)
		if claim.Spec.VolumeName == "" {
			t.Fatalf("claim %s: want a volume before the pod has a node, got %+v", v.Name, claim.Spec)
		}
		eventuallyBound(t, claims, v.Name)
	}
	volumes, err := client.CoreV1().PersistentVolumes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(volumes.Stop)
	if err := claims.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	// The finalizer keeps the claims until the pod is gone.
	if list, err := claims.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Fatalf("want two claims, got %v, %v", list, err)
	}
	if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for event := range volumes.ResultChan() {
		if event.Type == "DELETED" {
			if deleted++; deleted == len(pod.Spec.Volumes) {
				return
			}
		}
	}
	t.Errorf("want %d deleted volumes, got %d", len(pod.Spec.Volumes), deleted)
}

// eventuallyBound waits until the phase of a claim is Bound, which is written after the claim's volume.
func eventuallyBound(t *testing.T, claims corev1client.PersistentVolumeClaimInterface, name string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		claim, err := claims.Get(ctx, name, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("claim %s: want it to be bound, got %+v", name, claim.Status)
		}
		return err
	})
}
