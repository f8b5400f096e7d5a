package builtin_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestValidateStatus checks that the status endpoint validates the status that controllers write.
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
			errs := registry.StatusStrategy{Strategy: builtin.Table().Strategy(builtin.Table().Row(schema.GroupResource{Group: test.group, Resource: test.resource}), registry.Dependencies{})}.ValidateUpdate(context.Background(), test.obj, test.old)
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

// TestAuthorizeFirst checks that one error has both the missing permission to write a claim's status and the invalid
// fields.
func TestAuthorizeFirst(t *testing.T) {
	t.Parallel()
	claim := func(results ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "1"},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c"}},
			}}},
		}
		if results != nil {
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: results}}
		}
		return c
	}
	main := builtin.Table().Strategy(builtin.Table().Row(schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}), registry.Dependencies{
		Authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionNoOpinion, "", nil
		}),
	})
	ctx := genericapirequest.WithUser(registrytest.Through(resourcev1.SchemeGroupVersion), &user.DefaultInfo{Name: "jane"})
	errs := registry.StatusStrategy{Strategy: main}.ValidateUpdate(ctx, claim(resourcev1.DeviceRequestAllocationResult{Request: "another", Driver: "d.e", Pool: "p", Device: "d"}), claim())
	var got []string
	for _, err := range errs {
		got = append(got, string(err.Type)+" "+err.Field)
	}
	want := []string{"FieldValueForbidden status.allocation", "FieldValueInvalid status.allocation.devices.results[0].request"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
