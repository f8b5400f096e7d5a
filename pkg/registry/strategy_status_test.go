package registry

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
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
			errs := StatusStrategy{Builtin().Strategy(row(t, test.group, test.resource), Dependencies{})}.ValidateUpdate(context.Background(), test.obj, test.old)
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

// TestAuthorizeFirst checks that a user who may not write a claim's status learns so beside what else is wrong with it.
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
	main := Builtin().Strategy(row(t, "resource.k8s.io", "resourceclaims"), Dependencies{
		Authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionNoOpinion, "", nil
		}),
	})
	ctx := genericapirequest.WithUser(through(resourcev1.SchemeGroupVersion), &user.DefaultInfo{Name: "jane"})
	errs := StatusStrategy{main}.ValidateUpdate(ctx, claim(resourcev1.DeviceRequestAllocationResult{Request: "another", Driver: "d.e", Pool: "p", Device: "d"}), claim())
	var got []string
	for _, err := range errs {
		got = append(got, string(err.Type)+" "+err.Field)
	}
	want := []string{"FieldValueForbidden status.allocation", "FieldValueInvalid status.allocation.devices.results[0].request"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestMaySign checks that the permission to sign is needed by an answer alone.
func TestMaySign(t *testing.T) {
	t.Parallel()
	request := func(reason string) *certificatesv1beta1.PodCertificateRequest {
		r := &certificatesv1beta1.PodCertificateRequest{Spec: certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/signer"}}
		if reason != "" {
			r.Status.Conditions = []metav1.Condition{{Type: "Denied", Status: metav1.ConditionTrue, Reason: reason}}
		}
		return r
	}
	deps := Dependencies{Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetUser().GetName() == "signer" && a.GetVerb() == "sign" && a.GetName() == "example.com/*" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})}
	for _, test := range []struct {
		name, reason, by string
		answer           string
		refused          bool
	}{
		{name: "signer", reason: "the signer answers", by: "signer", answer: "Test"},
		{name: "somebody else", reason: "pods would trust the answer", by: "jane", answer: "Test", refused: true},
		{name: "no answer", reason: "nothing is signed", by: "jane"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: test.by})
			if errs := podCertificateRequestHooks.AuthorizeStatus(ctx, deps, request(test.answer), request("")); (len(errs) > 0) != test.refused {
				t.Errorf("%s: refused: want %t, got %v", test.reason, test.refused, errs)
			}
		})
	}
}

// TestPhaseTransitionTime checks when the phase of a volume is said to have changed (KEP-3762).
func TestPhaseTransitionTime(t *testing.T) {
	t.Parallel()
	before, given := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	status := func(phase corev1.PersistentVolumePhase, at *metav1.Time) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: phase, LastPhaseTransitionTime: at}}
	}
	for _, test := range []struct {
		name, reason string
		v            *corev1.PersistentVolume
		want         *metav1.Time // nil for now
	}{
		{"same phase, no time", "a controller of old doesn't know of the time", status(corev1.VolumePending, nil), &before},
		{"same phase, another time", "the controller knows", status(corev1.VolumePending, &given), &given},
		{"another phase, no time", "it changes now", status(corev1.VolumeBound, nil), nil},
		{"another phase, the same time", "the controller has read it and didn't change it", status(corev1.VolumeBound, &before), nil},
		{"another phase, another time", "the controller knows", status(corev1.VolumeBound, &given), &given},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			persistentVolumeHooks.PrepareForStatusUpdate(t.Context(), test.v, status(corev1.VolumePending, &before))
			got := test.v.Status.LastPhaseTransitionTime
			if test.want == nil && (got == nil || !got.After(given.Time)) || test.want != nil && !test.want.Equal(got) {
				t.Errorf("%s: want %v, got %v", test.reason, test.want, got)
			}
		})
	}
}
