package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// warnings records the Warning headers of responses to a client.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, fmt.Sprintf("%d %s %s", code, agent, text))
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// warned returns a client of the admin, and the warnings that the client gets.
func warned(t testing.TB, srv *miniapitest.Server) (kubernetes.Interface, *warnings) {
	t.Helper()
	seen := &warnings{}
	config := srv.Config()
	config.WarningHandler = seen
	return must(kubernetes.NewForConfig(config))(t), seen
}

func deniedWith(message string, warnings ...string) *admissionv1.AdmissionResponse {
	response := miniapitest.Denied(message)
	response.Warnings = warnings
	return response
}

// The warnings of webhooks become Warning headers with the code 299. The cases warning.* of the conformance suite
// allow a server to truncate long warnings. This test has the exact texts that kube-apiserver sends, and their
// order.
func TestWarnings(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client, seen := warned(t, srv)
	long, tooLong := strings.Repeat("x", 256), strings.Repeat("y", 300)
	// The server limits the total length of warnings to 4,096 characters. 13 of these warnings are shorter than the
	// limit, and 14 are longer. If the server cuts each warning to 256 characters, 16 warnings have exactly 4,096
	// characters.
	many := func(n int) []string {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("%02d%s", i, strings.Repeat("z", 298)))
		}
		return texts
	}
	cut := func(texts []string) []string {
		var short []string
		for _, text := range texts {
			short = append(short, text[:256])
		}
		return short
	}
	tests := []struct {
		name, reason string
		hooks        []hook
		refused      bool
		want         []string
	}{{
		name: "mutating", reason: "mutating webhooks warn before validating ones",
		hooks: []hook{
			validating("v", always(miniapitest.Allowed("validating"))),
			mutating("m", always(miniapitest.Allowed("mutating"))),
		},
		want: []string{"mutating", "validating"},
	}, {
		name: "mutating-rejected", reason: "the rejection has the warnings of the earlier webhooks",
		hooks: []hook{
			mutating("a", always(miniapitest.Allowed("a"))),
			mutating("b", always(deniedWith("no", "b"))),
			mutating("c", always(miniapitest.Allowed("c"))),
		},
		refused: true, want: []string{"a", "b"},
	}, {
		name: "reinvoked", reason: "the client gets each text once",
		hooks: []hook{
			mutating("a", always(miniapitest.Allowed("be careful")), mayBeReinvoked),
			mutating("b", patch(miniapitest.Add("/data", map[string]string{"b": "1"}))),
			mutating("c", always(miniapitest.Allowed("be careful"))),
		},
		want: []string{"be careful"},
	}, {
		name: "empty", reason: "an empty text is no warning",
		hooks: []hook{validating("v", always(miniapitest.Allowed("", "something")))},
		want:  []string{"something"},
	}, {
		name: "any-text", reason: "a header has one line of ASCII, but a warning may have any text",
		hooks: []hook{validating("v", always(miniapitest.Allowed(`"quoted" \ and ünïcode`)))},
		want:  []string{`"quoted" \ and ünïcode`},
	}, {
		name: "long", reason: "a few long warnings fit into the limit",
		hooks: []hook{validating("v", always(miniapitest.Allowed(long, tooLong)))},
		want:  []string{long, tooLong},
	}, {
		name: "room-left", reason: "3,900 characters are under 4,096: nothing is cut",
		hooks: []hook{validating("v", always(miniapitest.Allowed(many(13)...)))},
		want:  many(13),
	}, {
		name: "no-room-left", reason: "4,200 characters are over 4,096: each warning is cut to 256",
		hooks: []hook{validating("v", always(miniapitest.Allowed(many(14)...)))},
		want:  cut(many(14)),
	}, {
		name: "ignored", reason: "16 warnings of 256 characters are 4,096: further ones are ignored",
		hooks: []hook{validating("v", always(miniapitest.Allowed(many(20)...)))},
		want:  cut(many(16)),
	}, {
		name: "all-sources", reason: "4,096 is for the warnings of all webhooks together",
		hooks: []hook{
			mutating("m", always(miniapitest.Allowed(many(10)...))),
			validating("v", always(miniapitest.Allowed(many(20)...))),
		},
		want: cut(many(16)),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			install(t, srv, test.hooks...)
			seen.take()
			_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name}}, metav1.CreateOptions{})
			if refused := err != nil; refused != test.refused {
				t.Errorf("refused: want %t, got %v", test.refused, err)
			}
			var want []string
			for _, text := range test.want {
				want = append(want, "299 - "+text)
			}
			if diff := cmp.Diff(want, seen.take()); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
