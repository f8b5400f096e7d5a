package storage

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestVolumeAttachmentStatusErrors(t *testing.T) {
	t.Parallel()
	attachment := func(metadata map[string]string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{
			ObjectMeta: registrytest.ClusterStored("a"),
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: "d.e", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("v")},
			},
			Status: storagev1.VolumeAttachmentStatus{AttachmentMetadata: metadata},
		}
	}
	failed := attachment(nil)
	failed.Status.AttachError = &storagev1.VolumeError{Message: "no", ErrorCode: ptr.To(int32(-1))}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "metadata", Reason: "a driver adds metadata to an attachment",
			Object: attachment(map[string]string{"device": "sda"}), Status: true, Old: attachment(nil),
		},
		{
			Name: "too much metadata", Reason: "the size of the metadata is limited",
			Object: attachment(map[string]string{"data": strings.Repeat("x", 256*1024)}), Status: true, Old: attachment(nil),
			Want: []string{"status.attachmentMetadata: Too long: may not be more than 262144 bytes"},
		},
		{
			Name: "negative code", Reason: "a code of gRPC isn't negative",
			Object: failed, Status: true, Old: attachment(nil),
			Want: []string{"status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		},
	})
}
