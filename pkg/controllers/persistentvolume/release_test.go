package persistentvolume

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

// A released volume that is to be deleted is left to its driver. Without a driver, it has failed, unless it is a folder.
func TestReleaseWithoutProvisioner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		source       corev1.PersistentVolumeSource
		want         []string
	}{
		{"CSI", "the driver deletes the volume", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "example.com"}}, nil},
		{"NFS", "nothing deletes the volume", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, []string{"update persistentvolumes/status v"}},
		{"folder", "the folder could be deleted", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/v"}}, []string{"delete persistentvolumes v"}},
		{"other folder", "the folder may have other files", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/v"}}, []string{"update persistentvolumes/status v"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "v"},
				Spec:       corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, PersistentVolumeSource: test.source},
				Status:     corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased},
			}
			client := fake.NewSimpleClientset(v)
			b := &binder{Config: Config{
				Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), fake.NewSimpleClientset().CoreV1(), Component),
			}}
			if err := b.release(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
