package storage

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCSIDriverColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "no attachRequired", Reason: "a driver requires attachments by default",
			Object: &storagev1.CSIDriver{ObjectMeta: registrytest.MonthOld("x"), Spec: storagev1.CSIDriverSpec{
				TokenRequests: []storagev1.TokenRequest{{Audience: "a"}, {Audience: "b"}},
			}},
			Want: []any{"x", true, false, false, "a,b", false, "<none>", "30d"},
		},
	})
}

func TestCSIDriverDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{{
		Name: "limits", Reason: "pods are scheduled to nodes without the driver",
		Manifest: `{apiVersion: storage.k8s.io/v1, kind: CSIDriver}`,
		Path:     "spec.preventPodSchedulingIfMissing", Want: "false",
	}})
}

func TestCSIDriverWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "token requests", Reason: "without the field, the kubelet puts tokens into the volume attributes, which drivers log",
			Object: &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{}}}},
			Want:   []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"},
		},
	})
}

func TestCSIDriverGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{
		{
			Name: "token requests", Reason: "a change of the spec increases the generation",
			Object: &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "a"}}}},
			Old:    &storagev1.CSIDriver{},
			Want:   1,
		},
		{
			Name: "group policy", Reason: "each field of the spec counts",
			Object: &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{FSGroupPolicy: ptr.To(storagev1.NoneFSGroupPolicy)}},
			Old:    &storagev1.CSIDriver{},
			Want:   1,
		},
		{
			Name: "label", Reason: "a change of metadata does not increase the generation",
			Object: &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "b"}}},
			Old:    &storagev1.CSIDriver{ObjectMeta: registrytest.Generation(1)},
			Want:   1,
		},
	})
}

func TestCSIDriverErrors(t *testing.T) {
	t.Parallel()
	driver := func(name string, change func(*storagev1.CSIDriverSpec)) *storagev1.CSIDriver {
		d := &storagev1.CSIDriver{ObjectMeta: registrytest.ClusterStored(name)}
		defaultCSIDriver(d)
		change(&d.Spec)
		return d
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "long name", Reason: "only names of drivers in other objects are limited to 63 bytes",
			Object: driver(strings.Repeat("a", 64), func(*storagev1.CSIDriverSpec) {}),
		},
		{
			Name: "no tokens", Reason: "the field says where tokens are, so there must be some",
			Object: driver("d.e", func(s *storagev1.CSIDriverSpec) { s.ServiceAccountTokenInSecrets = ptr.To(true) }),
			Want:   []string{"spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified"},
		},
		{
			Name: "modes and tokens", Reason: "only the first request for an audience is checked",
			Object: driver("d.e", func(s *storagev1.CSIDriverSpec) {
				s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{"Long"}
				s.TokenRequests = []storagev1.TokenRequest{{Audience: "a"}, {Audience: "a", ExpirationSeconds: ptr.To[int64](1)}}
			}),
			Want: []string{
				`spec.tokenRequests[1].audience: Duplicate value: "a"`,
				`spec.volumeLifecycleModes: Unsupported value: "Long": supported values: "Persistent", "Ephemeral"`,
			},
		},
	})
}
