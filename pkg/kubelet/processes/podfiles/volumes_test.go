package podfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
)

// cluster has a ConfigMap "known" with data, and a Secret of the same name with the key "tls.key".
type cluster struct {
	data   map[string]string
	tokens int
	life   time.Duration
}

func (c *cluster) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name != "known" {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return &corev1.ConfigMap{Data: c.data}, nil
}

func (c *cluster) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return &corev1.Secret{Data: map[string][]byte{"tls.key": []byte("key")}}, nil
}

func (c *cluster) Token(context.Context, *corev1.Pod, authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequestStatus, error) {
	c.tokens++
	return &authenticationv1.TokenRequestStatus{Token: "token", ExpirationTimestamp: metav1.NewTime(time.Now().Add(c.life))}, nil
}

func podWith(volumes ...corev1.Volume) environment.Pod {
	return environment.Pod{Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Volumes: volumes},
	}}
}

func configMap(name string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items,
	}}}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		volume       corev1.Volume
		file, want   string // the content of a file, or the error
		mode         fs.FileMode
	}{
		{"config map", "each key is a file", configMap("known"), "a", "1", 0o644},
		{"item", "a key has a path and a mode", configMap("known", corev1.KeyToPath{Key: "a", Path: "x/y", Mode: new(int32(0o400))}), "x/y", "1", 0o400},
		{"unknown key", "the kubelet's error", configMap("known", corev1.KeyToPath{Key: "z", Path: "z"}), "", `MountVolume.SetUp failed for volume "v" : references non-existent config key: z`, 0},
		{"unknown object", "the kubelet's error", configMap("gone"), "", `MountVolume.SetUp failed for volume "v" : configmaps "gone" not found`, 0},
		{"path outside", "files stay in their volume", configMap("known", corev1.KeyToPath{Key: "a", Path: "../a"}), "", `MountVolume.SetUp failed for volume "v" : the path "../a" of a file leads out of its volume`, 0},
		{"projected", "several sources", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
		}}}}, "labels", `app="web"`, 0o644},
		{"secret", "the default mode is given", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls", DefaultMode: new(int32(0o600))}}}, "tls.key", "key", 0o600},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := New(t.TempDir())
			err := v.Write(t.Context(), &cluster{data: map[string]string{"a": "1"}, life: time.Hour}, podWith(test.volume))
			if test.file == "" {
				if err == nil || err.Error() != test.want {
					t.Errorf("%s: want the error %q, got %v", test.reason, test.want, err)
				}
				return
			}
			path := filepath.Join(v.path("v"), test.file)
			content, readErr := os.ReadFile(path)
			info, statErr := os.Stat(path)
			if err := errors.Join(err, readErr, statErr); err != nil || string(content) != test.want || info.Mode() != test.mode {
				t.Errorf("%s: want %q with mode %v, got %q and %v", test.reason, test.want, test.mode, content, err)
			}
		})
	}
}

// All files of a volume change at the same time, and a folder that doesn't change stays.
func TestChanges(t *testing.T) {
	t.Parallel()
	v, c := New(t.TempDir()), &cluster{}
	folder := ""
	for _, step := range []struct {
		reason  string
		data    map[string]string
		changes bool
	}{
		{"the first files", map[string]string{"a": "1", "b": "1"}, true},
		{"nothing has changed", map[string]string{"a": "1", "b": "1"}, false},
		{"a key is gone, and another one changes", map[string]string{"b": "2"}, true},
	} {
		c.data = step.data
		if err := v.Write(t.Context(), c, podWith(configMap("known"))); err != nil {
			t.Fatal(err)
		}
		now, err := os.Readlink(filepath.Join(v.path("v"), current))
		if err != nil || (now != folder) != step.changes {
			t.Errorf("%s: the folder was %q, and is %q: %v", step.reason, folder, now, err)
		}
		folder = now
		entries, err := os.ReadDir(v.path("v"))
		if err != nil || len(entries) != len(step.data)+2 {
			t.Errorf("%s: want %d files, the link and its folder, got %v: %v", step.reason, len(step.data), entries, err)
		}
		for name, want := range step.data {
			if got, err := os.ReadFile(filepath.Join(v.path("v"), name)); err != nil || string(got) != want {
				t.Errorf("%s: want %q in %s, got %q: %v", step.reason, want, name, got, err)
			}
		}
	}
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		life         time.Duration
		want         int
	}{
		{"valid", "the token is valid for long", time.Hour, 1},
		{"expired", "the token is renewed", 0, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, c := New(t.TempDir()), &cluster{life: test.life}
			pod := podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
			}}})
			for range 2 {
				if err := v.Write(t.Context(), c, pod); err != nil {
					t.Fatal(err)
				}
			}
			if _, ok := v.Renewal(); c.tokens != test.want || !ok {
				t.Errorf("%s: want %d tokens, got %d", test.reason, test.want, c.tokens)
			}
		})
	}
}

func TestHostPath(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason, path string
		kind               corev1.HostPathType
		want               string // the error
	}{
		{"unset", "nothing is checked", "gone", corev1.HostPathUnset, ""},
		{"directory", "the type is right", "", corev1.HostPathDirectory, ""},
		{"new directory", "it is created", "a/b", corev1.HostPathDirectoryOrCreate, ""},
		{"new file", "it is created", "c", corev1.HostPathFileOrCreate, ""},
		{"other type", "the kubelet's error", "file", corev1.HostPathDirectoryOrCreate, "hostPath type check failed: " + file + " is not a directory, it's a File"},
		{"nothing", "the kubelet's error", "gone", corev1.HostPathSocket, fmt.Sprintf("hostPath type check failed, %[1]s/gone is not a socket file, unable to determine its type: path \"%[1]s/gone\" does not exist", folder)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(folder, test.path)
			volume := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &test.kind}}}
			v, pod := New(t.TempDir()), podWith(volume)
			err := v.Write(t.Context(), &cluster{}, pod)
			if test.want != "" {
				if want := `MountVolume.SetUp failed for volume "v" : ` + test.want; err == nil || err.Error() != want {
					t.Errorf("%s: want the error %q, got %v", test.reason, want, err)
				}
				return
			}
			_, statErr := os.Stat(path)
			if exists := statErr == nil; err != nil || exists == (test.kind == corev1.HostPathUnset) || v.Path(pod.Pod, "v") != path {
				t.Errorf("%s: want %s, got %s, %v and %v", test.reason, path, v.Path(pod.Pod, "v"), err, statErr)
			}
		})
	}
}
