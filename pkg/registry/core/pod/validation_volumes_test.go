package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestVolumes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		source       corev1.VolumeSource
		want         []string
	}{
		{name: "none", reason: "a volume needs a source", want: []string{"spec.volumes[0]: Required value: must " +
			"specify a volume type"}},
		{
			name: "two", reason: "a volume has one source",
			source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}, NFS: &corev1.NFSVolumeSource{}},
			want:   []string{"spec.volumes[0].nfs: Forbidden: may not specify more than 1 volume type"},
		},
		{
			name: "empty dir", reason: "the size limit can't be negative",
			source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(registrytest.Quantities("", "-1")[""])}},
			want:   []string{"spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"},
		},
		{
			name: "mode", reason: "a folder may have the sticky bit",
			source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Mode: ptr.To[int32](0o2000)}},
			want:   []string{"spec.volumes[0].emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive"},
		},
		{
			name: "users of keys", reason: "a user of a file is a user of Linux",
			source: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, DefaultUser: ptr.To[int64](-1),
				Items: []corev1.KeyToPath{{Key: "k", Path: "k", User: ptr.To[int64](-1)}}}},
			want: []string{
				"spec.volumes[0].configMap.defaultUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].configMap.items[0].user: Invalid value: -1: must be between 0 and 2147483647, inclusive",
			},
		},
		{
			name: "users of projected files", reason: "a user of a file is a user of Linux",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultUser: ptr.To[int64](-1), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t", User: ptr.To[int64](-1)}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "d", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}, User: ptr.To[int64](-1)}}}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("b"), Path: "b", User: ptr.To[int64](-1)}},
				{PodCertificate: &corev1.PodCertificateProjection{SignerName: "e.com/s", KeyType: "ED25519", KeyPath: "c", User: ptr.To[int64](-1)}},
			}}},
			want: []string{
				"spec.volumes[0].projected.defaultUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].projected.sources[0].serviceAccountToken.user: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].projected.sources[1].downwardAPI.user: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].projected.sources[2].clusterTrustBundle.user: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].projected.sources[3].podCertificate.user: Invalid value: -1: must be between 0 and 2147483647, inclusive",
				"spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
			},
		},
		{
			name: "host path", reason: "a path on the host contains no '..', and its type has to be known",
			source: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a/../b", Type: ptr.To(corev1.HostPathType("Pipe"))}},
			want: []string{
				"spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
				`spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
			},
		},
		{
			name: "disk", reason: "the error names persistentDisk, as kube-apiserver does, though the JSON field is gcePersistentDisk",
			source: corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{Partition: 300}},
			want: []string{
				"spec.volumes[0].persistentDisk.pdName: Required value",
				"spec.volumes[0].persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive",
			},
		},
		{
			name: "secret", reason: "keys of a secret become files below the volume's path",
			source: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{DefaultMode: ptr.To[int32](0o1000), Items: []corev1.KeyToPath{{Key: "k", Path: "/etc"}}}},
			want: []string{
				"spec.volumes[0].secret.secretName: Required value",
				"spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
				`spec.volumes[0].secret.items[0].path: Invalid value: "/etc": must be a relative path`,
			},
		},
		{
			name: "nfs", reason: "an NFS volume needs a server and an absolute path",
			source: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Path: "share"}},
			want: []string{
				"spec.volumes[0].nfs.server: Required value",
				`spec.volumes[0].nfs.path: Invalid value: "share": must be an absolute path`,
			},
		},
		{
			name: "claim", reason: "the volume needs the name of a claim",
			source: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}},
			want:   []string{"spec.volumes[0].persistentVolumeClaim.claimName: Required value"},
		},
		{
			name: "csi", reason: "the volume needs the name of a driver",
			source: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}},
			want:   []string{"spec.volumes[0].csi.driver: Required value"},
		},
		{
			name: "ephemeral", reason: "the server derives the claim's name from the pod and the volume",
			source: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Name: "mine"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: registrytest.Quantities("storage", "1Gi")},
				},
			}}},
			want: []string{"spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set"},
		},
		{
			name: "projected", reason: "two sources can't write the same file, and a token requires a service account",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Items: []corev1.KeyToPath{{Key: "a", Path: "a"}}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Items: []corev1.KeyToPath{{Key: "b", Path: "a"}}}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](60)}},
			}}},
			want: []string{
				`spec.volumes[0].projected: Invalid value: "c": conflicting duplicate paths`,
				"spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
				"spec.volumes[0].projected.sources[2].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
			},
		},
		{
			name: "certificate", reason: "keys of user annotations have a domain prefix",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{PodCertificate: &corev1.PodCertificateProjection{
					SignerName: "a.b/c", KeyType: "ED25519", CredentialBundlePath: "bundle",
					UserAnnotations: map[string]string{"a.b/k": "", "k": ""}}},
			}}},
			want: []string{`spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: Invalid value: "k": ` +
				`must be a domain-prefixed key (such as "acme.io/foo")`},
		},
		{
			name:   "certificate of Kubernetes",
			reason: "a signer of Kubernetes issues certificates for at most a day, and the errors keep this order",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{PodCertificate: &corev1.PodCertificateProjection{SignerName: "x.kubernetes.io/c", KeyType: "x", CredentialBundlePath: "bundle",
					MaxExpirationSeconds: ptr.To[int32](86401), UserAnnotations: map[string]string{"k": ""}}},
			}}},
			want: []string{
				`spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: Invalid value: "k": must be a domain-prefixed key (such as "acme.io/foo")`,
				`spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "x": supported values: "RSA3072", "RSA4096", ` +
					`"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`,
				"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400",
			},
		},
		{
			name: "certificate of another signer", reason: "another signer issues certificates for at most 91 days",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{PodCertificate: &corev1.PodCertificateProjection{SignerName: "notkubernetes.io/c", KeyType: "ED25519", CredentialBundlePath: "bundle",
					MaxExpirationSeconds: ptr.To[int32](86401)}},
			}}},
		},
		{
			name: "trust bundles", reason: "the name of a bundle is a DNS subdomain, with the signer before it",
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("a.b:c:d"), Path: "a"}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("a.b:c:D"), Path: "b"}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("D"), Path: "c"}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To(":d"), Path: "d"}},
			}}},
			want: []string{
				`spec.volumes[0].projected.sources[1].clusterTrustBundle.name: Invalid value: "a.b:c:D": not a valid clustertrustbundlename: ` + subdomainMessage,
				`spec.volumes[0].projected.sources[2].clusterTrustBundle.name: Invalid value: "D": not a valid clustertrustbundlename: ` + subdomainMessage,
				`spec.volumes[0].projected.sources[3].clusterTrustBundle.name: Invalid value: ":d": not a valid clustertrustbundlename: ` +
					`ClusterTrustBundle without signer name must not have ":" in its name`,
			},
		},
		{
			name: "image", reason: "an image volume needs a reference and a known pull policy",
			source: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{PullPolicy: "Sometimes"}},
			want: []string{
				`spec.volumes[0].image.reference: Required value`,
				`spec.volumes[0].image.pullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			pod := podWith(func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: tc.source}} })
			registrytest.WantErrors(t, tc.reason, validatePod(pod), tc.want...)
		})
	}
}

func TestVolumeNames(t *testing.T) {
	t.Parallel()
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	pod := podWith(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: empty}, {Name: "a", VolumeSource: empty}, {VolumeSource: empty}}
	})
	registrytest.WantErrors(t, "volumes have names, which differ", validatePod(pod),
		`spec.volumes[1].name: Duplicate value: "a"`,
		"spec.volumes[2].name: Required value")
}
