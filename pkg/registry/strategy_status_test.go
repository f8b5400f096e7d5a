package registry

import (
	"context"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestValidateStatus checks that what controllers report is held against its limits on the
// status endpoint, too.
func TestValidateStatus(t *testing.T) {
	t.Parallel()
	attachment := func(metadata map[string]string) *storagev1.VolumeAttachment {
		volume := "v"
		return &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: "d.e", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
			Status:     storagev1.VolumeAttachmentStatus{AttachmentMetadata: metadata},
		}
	}
	for _, test := range []struct {
		name, group, resource, reason string
		obj, old                      runtime.Object
		want                          string
	}{
		{
			name: "attached", group: "storage.k8s.io", resource: "volumeattachments", reason: "a driver may say how",
			obj: attachment(map[string]string{"device": "sda"}), old: attachment(nil), want: "<nil>",
		},
		{
			name: "attached with too much", group: "storage.k8s.io", resource: "volumeattachments", reason: "it is for the driver, not for its data",
			obj: attachment(map[string]string{"data": strings.Repeat("x", 256*1024)}), old: attachment(nil),
			want: "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			errs := statusStrategy{newStrategy(Scheme(), row(t, test.group, test.resource), nil)}.ValidateUpdate(context.Background(), test.obj, test.old)
			got := "<nil>"
			if err := errs.ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}
