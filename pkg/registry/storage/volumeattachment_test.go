package storage

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// subdomain is the error about a name that isn't a DNS name.
const subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
	"alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

func TestVolumeAttachmentErrors(t *testing.T) {
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
	unnamed := attachment(nil)
	unnamed.Spec.Source.PersistentVolumeName, unnamed.Spec.NodeName = ptr.To(""), "-"
	failed := attachment(nil)
	failed.Status.AttachError = &storagev1.VolumeError{Message: "no", ErrorCode: ptr.To(int32(-1))}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "metadata", Reason: "a driver adds metadata with any keys to an attachment",
			Object: attachment(map[string]string{"device": "sda", "": "x"}), Status: true, Old: attachment(nil),
		},
		{
			Name: "no name", Reason: "the form of the name is checked last", Object: unnamed,
			Want: []string{
				"spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
				`spec.nodeName: Invalid value: "-": ` + subdomain,
				`spec.source.persistentVolumeName: Invalid value: "": ` + subdomain,
			},
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
