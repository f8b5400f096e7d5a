package imagepolicy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

// backend is an image policy backend. It refuses images with certain names, and records its requests.
type backend struct {
	mu    sync.Mutex
	asked []imagepolicyv1alpha1.ImageReviewSpec
}

func (b *backend) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review imagepolicyv1alpha1.ImageReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Kind != "ImageReview" || review.APIVersion != "imagepolicy.k8s.io/v1alpha1" {
		http.Error(w, fmt.Sprint(review.TypeMeta, err), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.asked = append(b.asked, review.Spec)
	b.mu.Unlock()
	review.Status.Allowed = true
	for _, c := range review.Spec.Containers {
		switch c.Image {
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
			return
		case "refused":
			review.Status = imagepolicyv1alpha1.ImageReviewStatus{Reason: "it is old"}
		case "refused silently":
			review.Status.Allowed = false
		case "noted":
			review.Status.AuditAnnotations = map[string]string{"signed-by": "us"}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// start returns a plugin and its backend. The plugin's configuration ends with the argument lines.
func start(t *testing.T, lines string) (*Plugin, *backend) {
	t.Helper()
	b := &backend{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "backend.kubeconfig")
	content := fmt.Sprintf("clusters: [{name: b, cluster: {server: %q}}]\ncontexts: [{name: b, context: {cluster: b}}]\ncurrent-context: b\n", server.URL)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(strings.NewReader(fmt.Sprintf("imagePolicy:\n  kubeConfigFile: %s\n  retryBackoff: 1\n%s", file, lines)))
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

func podOf(images ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
	for _, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Image: image})
	}
	return pod
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	withInit := podOf("a")
	withInit.Spec.InitContainers = []corev1.Container{{Image: "refused"}}
	debugged := podOf("refused")
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "debugger"}}}
	annotatedPod := podOf("a")
	annotatedPod.Annotations = map[string]string{"mine.image-policy.k8s.io/ticket": "1", "other": "2"}
	for _, test := range []struct {
		name, reason, config string
		request              plugintest.Request
		refusal              string
		asked                string // the images, and then the annotations, of the request to the backend
	}{
		{"allowed", "the backend allows all images of the pod", "", plugintest.Create(podOf("a", "b")), "", "a b"},
		{"refused", "the backend refuses one image of the pod", "", plugintest.Create(podOf("a", "refused")),
			"image policy webhook backend denied one or more images: it is old", "a refused"},
		{"refused silently", "a reason is optional", "", plugintest.Create(podOf("refused silently")),
			"one or more images rejected by webhook backend", "refused silently"},
		{"init container", "an init container runs an image, too", "", plugintest.Create(withInit), "it is old", "a refused"},
		{"annotations", "the backend gets the annotations for image policies", "", plugintest.Create(annotatedPod), "",
			"a mine.image-policy.k8s.io/ticket=1"},
		{"update", "an update may change an image", "", plugintest.Update(podOf("a"), podOf("refused")), "it is old", "refused"},
		{"ephemeral containers", "the subresource adds ephemeral containers", "",
			plugintest.Update(podOf("refused"), debugged).Of("ephemeralcontainers"), "", "debugger"},
		{"status", "an update of the status changes no image", "",
			plugintest.Update(podOf("refused"), podOf("refused")).Of("status"), "", ""},
		{"other kind", "a ConfigMap has no images", "",
			plugintest.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}}), "", ""},
		{"broken", "the backend failed, and failures don't allow pods by default", "",
			plugintest.Create(podOf("broken")), "an error on the server", "broken"},
		{"broken, and open", "the configuration allows pods when the backend fails", "  defaultAllow: true\n",
			plugintest.Create(podOf("broken")), "", "broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, backend := start(t, test.config)
			plugintest.Run(t, p, test.request, test.refusal)
			var asked []string
			if len(backend.asked) > 0 {
				spec := backend.asked[0]
				for _, c := range spec.Containers {
					asked = append(asked, c.Image)
				}
				for key, value := range spec.Annotations {
					asked = append(asked, key+"="+value)
				}
				if spec.Namespace != "n" {
					t.Errorf("asked about namespace %q", spec.Namespace)
				}
			}
			if got := strings.Join(asked, " "); got != test.asked {
				t.Errorf("asked about %q, want %q: %s", got, test.asked, test.reason)
			}
		})
	}
}

func TestFailedOpenIsMarked(t *testing.T) {
	t.Parallel()
	p, backend := start(t, "  defaultAllow: true\n")
	pod := podOf("broken")
	plugintest.Run(t, p, plugintest.Create(pod), "")
	if want := map[string]string{"alpha.image-policy.k8s.io/failed-open": "true"}; !cmp.Equal(pod.Annotations, want) {
		t.Errorf("annotations are %v, want %v", pod.Annotations, want)
	}
	if len(backend.asked) < 2 {
		t.Errorf("the backend was asked %d times, want it to be tried again", len(backend.asked))
	}
}

func TestAnswersAreRemembered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, config, image string
		want                        int
	}{
		{"allowed", "the backend's answer is cached for five minutes", "", "a", 1},
		{"denied", "the backend's answer is cached for half a minute", "", "refused", 1},
		{"allowed, never remembered", "-1 turns the cache of allowed images off", "  allowTTL: -1\n", "a", 2},
		{"denied, never remembered", "-1 turns the cache of refused images off", "  denyTTL: -1\n", "refused", 2},
		{"denied, with an allowTTL of -1", "allowTTL is only for allowed images", "  allowTTL: -1\n", "refused", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, backend := start(t, test.config)
			for range 2 {
				_ = p.Validate(t.Context(), plugintest.Create(podOf(test.image)).Attributes(t), nil)
			}
			if len(backend.asked) != test.want {
				t.Errorf("the backend was asked %d times, want %d: %s", len(backend.asked), test.want, test.reason)
			}
		})
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, config, want string }{
		{"none", "the backend has no address", "", "imagePolicy.kubeConfigFile: must name the kubeconfig"},
		{"no such file", "the file doesn't exist", "imagePolicy: {kubeConfigFile: /nowhere}",
			"imagePolicy.kubeConfigFile: /nowhere: stat /nowhere"},
		{"numbers", "the error lists all wrong numbers", "imagePolicy: {kubeConfigFile: /nowhere, allowTTL: 1801, denyTTL: -2, retryBackoff: -3}",
			"imagePolicy.allowTTL: 1801: must be between 1 and 1800, in units of 1s, or -1 for none\n" +
				"imagePolicy.denyTTL: -2: must be between 1 and 1800, in units of 1s, or -1 for none\n" +
				"imagePolicy.retryBackoff: -3: must be between 1 and 300000, in units of 1ms, or -1 for none"},
		{"overflow", "the number must not overflow into the allowed range",
			"imagePolicy: {kubeConfigFile: /nowhere, allowTTL: 9223372036854775807}",
			"imagePolicy.allowTTL: 9223372036854775807"},
		{"negative overflow", "the number must not overflow into the allowed range",
			"imagePolicy: {kubeConfigFile: /nowhere, allowTTL: -10000000000}", "imagePolicy.allowTTL: -10000000000"},
	} {
		if _, err := New(strings.NewReader(test.config)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q: %s", test.name, err, test.want, test.reason)
		}
	}
	if _, err := New(nil); err == nil || !strings.Contains(err.Error(), "a configuration is required") {
		t.Errorf("without configuration: %v", err)
	}
	for _, test := range []struct {
		name, reason, config string
		want                 settings
	}{
		{"given", "denyTTL has a default of its own", "imagePolicy: {kubeConfigFile: f, allowTTL: 50, retryBackoff: 20}",
			settings{kubeconfig: "f", allowTTL: 50 * time.Second, denyTTL: 30 * time.Second, retryBackoff: 20 * time.Millisecond}},
		{"defaults", "the defaults are kube-apiserver's", "imagePolicy: {kubeConfigFile: f}",
			settings{kubeconfig: "f", allowTTL: 5 * time.Minute, denyTTL: 30 * time.Second, retryBackoff: 500 * time.Millisecond}},
		{"none", "-1 stands for no time", "imagePolicy: {kubeConfigFile: f, allowTTL: -1, denyTTL: -1, retryBackoff: -1, defaultAllow: true}",
			settings{kubeconfig: "f", defaultAllow: true}},
	} {
		if s, err := readSettings(strings.NewReader(test.config)); err != nil || s != test.want {
			t.Errorf("%s: settings are %+v, %v, want %+v: %s", test.name, s, err, test.want, test.reason)
		}
	}
}

// noted are the attributes of a request. They collect the plugin's audit annotations.
type noted struct {
	admission.Attributes
	annotations map[string]string
}

func (n *noted) AddAnnotation(key, value string) error {
	n.annotations[key] = value
	return n.Attributes.AddAnnotation(key, value)
}

func TestAuditAnnotations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, image string
		want                map[string]string
	}{
		{"annotation of the backend", "the backend's annotation is kept", "noted",
			map[string]string{"imagepolicywebhook.image-policy.k8s.io/signed-by": "us"}},
		{"failed open", "the pod is allowed because the backend failed", "broken",
			map[string]string{"imagepolicywebhook.image-policy.k8s.io/failed-open": "true"}},
		{"none", "without an annotation of the backend, there is no audit annotation", "a", map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t, "  defaultAllow: true\n")
			a := &noted{plugintest.Create(podOf(test.image)).Attributes(t), map[string]string{}}
			if err := p.Validate(t.Context(), a, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, a.annotations); diff != "" {
				t.Errorf("%s: audit annotations (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
