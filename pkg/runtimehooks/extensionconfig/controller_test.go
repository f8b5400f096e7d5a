package extensionconfig_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extensionconfig"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// world is a controller with fake extensions, in a synctest bubble. The extension of an ExtensionConfig a has the
// URL https://a.
type world struct {
	t        *testing.T
	began    time.Time
	configs  dynamic.ResourceInterface
	secrets  *kubernetesfake.Clientset
	registry *hookregistry.Registry

	mu         sync.Mutex
	extensions map[string]http.HandlerFunc // the handlers of the extensions, by the host of the URL
	asked      map[string][]time.Duration  // the times of the requests since the start, by host
}

// newWorld runs a controller with some ExtensionConfigs. The argument "extensions" maps the host of an extension's URL
// to the handler of the extension.
func newWorld(t *testing.T, extensions map[string]http.HandlerFunc, configs ...runtime.Object) *world {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{runtimev1.Resource(): "ExtensionConfigList"}
	w := &world{
		t: t, began: time.Now(), registry: hookregistry.New(), secrets: kubernetesfake.NewClientset(),
		extensions: extensions, asked: map[string][]time.Duration{},
	}
	configured := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, configs...)
	w.configs = configured.Resource(runtimev1.Resource())
	hooks := catalog.New()
	w.check(clusterapi.AddToCatalog(hooks))
	caller, err := hookclient.New(hookclient.Options{Catalog: hooks, Registry: w.registry, Connector: w})
	w.check(err)
	controller, err := extensionconfig.New(extensionconfig.Options{Catalog: hooks, Client: caller, Registry: w.registry, Dynamic: configured, Kubernetes: w.secrets})
	w.check(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		w.check(<-ended)
	})
	<-controller.Synced()
	synctest.Wait()
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// Connect implements hookclient.Connector.
func (w *world) Connect(config runtimev1.ClientConfig) (hookclient.Connection, error) {
	base, err := url.Parse(config.URL)
	return hookclient.Connection{URL: base, HTTP: &http.Client{Transport: w}}, err
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.asked[req.URL.Host] = append(w.asked[req.URL.Host], time.Since(w.began))
	extension := w.extensions[req.URL.Host]
	w.mu.Unlock()
	answer := httptest.NewRecorder()
	extension(answer, req)
	return answer.Result(), req.Context().Err()
}

// becomes replaces the extension at a host.
func (w *world) becomes(host string, extension http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.extensions[host] = extension
}

// passes waits for the time d, which takes no real time in a synctest bubble.
func (w *world) passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // time in a bubble doesn't take real time
	synctest.Wait()
}

// expectAsked compares the times of the calls of an extension's Discovery, since the last call of expectAsked. The
// times count from the start of the test.
func (w *world) expectAsked(reason, host string, want ...time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.asked[host]); diff != "" {
		w.t.Errorf("%s was asked at other times (-want +got, %s): %s", host, reason, diff)
	}
	delete(w.asked, host)
}

// expectHandlers compares the handlers in the registry with want. If want is empty, the registry must not be ready.
func (w *world) expectHandlers(reason string, want ...string) {
	w.t.Helper()
	list, err := w.registry.List(catalog.GroupHook{Group: hooksv1.Group, Hook: "BeforeClusterCreate"})
	var got []string
	for _, registration := range list {
		got = append(got, registration.Name)
	}
	if (err == nil) != (want != nil) || !slices.Equal(want, got) {
		w.t.Errorf("handlers are %v, %v, not %v (%s)", got, err, want, reason)
	}
}

// change updates an ExtensionConfig, and waits until the controller has handled the update.
func (w *world) change(name string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	config, err := w.configs.Get(w.t.Context(), name, metav1.GetOptions{})
	w.check(err)
	change(config)
	_, err = w.configs.Update(w.t.Context(), config, metav1.UpdateOptions{})
	w.check(err)
	synctest.Wait()
}

func beingDeleted(config *unstructured.Unstructured) {
	config.SetFinalizers([]string{"example.com/busy"})
	config.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
}

func newGeneration(config *unstructured.Unstructured) {
	config.SetGeneration(config.GetGeneration() + 1)
}

func annotate(name, value string) func(*unstructured.Unstructured) {
	return func(config *unstructured.Unstructured) { config.SetAnnotations(map[string]string{name: value}) }
}

func (w *world) conditions(name string) []metav1.Condition {
	w.t.Helper()
	object, err := w.configs.Get(w.t.Context(), name, metav1.GetOptions{})
	w.check(err)
	config := &runtimev1.ExtensionConfig{}
	w.check(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, config))
	return config.Status.Conditions
}

func config(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clientConfig": map[string]any{"url": "https://" + name}}}}
	object.SetAPIVersion(runtimev1.GroupVersion().String())
	object.SetKind("ExtensionConfig")
	object.SetName(name)
	object.SetGeneration(1)
	return object
}

func working(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"status":"Success","handlers":[{"name":"quota","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterCreate"}}]}`)
}

func starting(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "starting", http.StatusServiceUnavailable)
}

// TestBackoff checks when the controller calls Discovery of an extension again. After a failure, the time between
// two calls doubles with each further failure, up to a minute. After a success, the controller calls Discovery
// every ten minutes.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]http.HandlerFunc{"a": starting}, config("a"))
		var want []time.Duration
		delay, at := extensionconfig.DefaultFirstBackoff, time.Duration(0)
		for range 13 {
			want = append(want, at)
			at += delay
			delay = min(2*delay, extensionconfig.DefaultLastBackoff)
		}
		w.passes(want[len(want)-1])
		w.expectAsked("the extension fails", "a", want...)
		if last := want[12] - want[11]; last != time.Minute {
			t.Errorf("the last delay is %s", last)
		}

		w.becomes("a", working)
		w.passes(extensionconfig.DefaultLastBackoff)
		w.expectAsked("the next attempt succeeds", "a", at)
		w.passes(2 * extensionconfig.DefaultPeriod)
		w.expectAsked("the handlers may change without a change of the ExtensionConfig", "a", at+extensionconfig.DefaultPeriod, at+2*extensionconfig.DefaultPeriod)
		at += 2 * extensionconfig.DefaultPeriod

		w.becomes("a", starting)
		w.passes(extensionconfig.DefaultPeriod + 300*time.Millisecond)
		at += extensionconfig.DefaultPeriod
		w.expectAsked("a success ends the backoff of earlier failures", "a", at, at+100*time.Millisecond, at+300*time.Millisecond)
		w.expectHandlers("the handlers of the last valid answer stay", "quota.a")
	})
}

// TestChangesAreFollowed checks that the controller calls Discovery at once after a change of the spec or the
// annotations. A change of the status has no effect, because the controller itself changes the status.
func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]http.HandlerFunc{"a": starting, "b": working}, config("a"))
		w.passes(time.Minute)
		w.mu.Lock()
		clear(w.asked)
		w.mu.Unlock()
		w.change("a", newGeneration)
		w.passes(100 * time.Millisecond)
		w.expectAsked("a change begins a new backoff", "a", time.Minute, time.Minute+100*time.Millisecond)
		w.becomes("a", working)
		w.passes(time.Minute)
		now := time.Since(w.began)
		w.expectAsked("the next attempt succeeds", "a", time.Minute+300*time.Millisecond)
		w.change("a", annotate("example.com/asked", "again"))
		w.expectAsked("an annotation may name a Secret", "a", now)
		w.change("a", func(config *unstructured.Unstructured) { config.SetLabels(map[string]string{"a": "b"}) })
		w.expectAsked("labels say nothing about the extension", "a")

		_, err := w.configs.Create(t.Context(), config("b"), metav1.CreateOptions{})
		w.check(err)
		synctest.Wait()
		w.expectAsked("a new ExtensionConfig is discovered", "b", now)
		w.expectHandlers("both are discovered", "quota.a", "quota.b")
		w.check(w.configs.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		synctest.Wait()
		w.expectHandlers("a deleted ExtensionConfig has no handlers", "quota.b")
		w.passes(2 * extensionconfig.DefaultPeriod)
		w.expectAsked("a deleted ExtensionConfig isn't discovered", "a")
	})
}

// TestWarmUp checks that no handler can be called until each ExtensionConfig of the first list is discovered or
// paused, is being deleted, or has been deleted.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		then         func(*world)
		want         []string
	}{
		{"the failed extension works", "all extensions are discovered", func(w *world) { w.becomes("b", working) },
			[]string{"quota.a", "quota.b", "quota.c"}},
		{"the failed extension is deleted", "all remaining extensions are discovered", func(w *world) {
			w.check(w.configs.Delete(w.t.Context(), "b", metav1.DeleteOptions{}))
		}, []string{"quota.a", "quota.c"}},
		{"the failed extension is being deleted", "a finalizer may keep the ExtensionConfig for ever", func(w *world) {
			w.change("b", beingDeleted)
		}, []string{"quota.a", "quota.c"}},
		{"a working extension is deleted and created again", "the new ExtensionConfig isn't in the first list", func(w *world) {
			w.check(w.configs.Delete(w.t.Context(), "a", metav1.DeleteOptions{}))
			synctest.Wait()
			w.becomes("a", starting)
			_, err := w.configs.Create(w.t.Context(), config("a"), metav1.CreateOptions{})
			w.check(err)
			w.becomes("b", working)
		}, []string{"quota.b", "quota.c"}},
		{"a working extension is being deleted", "handlers that were discovered before the deletion can't be called after it", func(w *world) {
			w.change("a", beingDeleted)
			w.becomes("b", working)
		}, []string{"quota.b", "quota.c"}},
		{"the failed extension is paused", "a paused ExtensionConfig has the handlers of its status", func(w *world) {
			w.change("b", annotate(runtimev1.PausedAnnotation, ""))
		}, []string{"quota.a", "quota.c"}},
		{"the failed extension still fails", "the registry gets the handlers of all extensions at once, or of none", func(*world) {}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, map[string]http.HandlerFunc{"a": working, "b": starting, "c": working}, config("a"), config("b"))
				_, err := w.configs.Create(t.Context(), config("c"), metav1.CreateOptions{})
				w.check(err)
				w.passes(time.Second)
				w.expectHandlers("b isn't discovered")
				test.then(w)
				w.passes(time.Minute)
				w.expectHandlers(test.reason, test.want...)
			})
		})
	}
}

// TestNothingToWarmUp checks that the registry is ready at once if there are no ExtensionConfigs at the start, or only
// some that are being deleted. The registry stays ready when ExtensionConfigs are created later.
func TestNothingToWarmUp(t *testing.T) {
	t.Parallel()
	leaving := config("c")
	beingDeleted(leaving)
	for name, atStart := range map[string][]runtime.Object{"none": nil, "one that is being deleted": {leaving}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, map[string]http.HandlerFunc{"a": starting, "b": working, "c": working}, atStart...)
				select {
				case <-w.registry.Ready():
				default:
					t.Error("the registry isn't ready, and has nothing to wait for")
				}
				for _, name := range []string{"a", "b"} {
					_, err := w.configs.Create(t.Context(), config(name), metav1.CreateOptions{})
					w.check(err)
				}
				synctest.Wait()
				w.expectHandlers("a fails, and b works", "quota.b")
			})
		})
	}
}

// TestHangingExtensions checks extensions that don't answer. Each hanging extension occupies a worker of the
// controller. As long as a worker is free, other extensions are discovered without a delay.
func TestHangingExtensions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
		w := newWorld(t, map[string]http.HandlerFunc{"a": hang, "b": hang, "c": hang, "d": working}, config("a"), config("b"), config("c"), config("d"))
		if !meta.IsStatusConditionTrue(w.conditions("d"), runtimev1.DiscoveredCondition) {
			t.Errorf("conditions of d are %+v", w.conditions("d"))
		}
		w.passes(10 * time.Second)
		condition := meta.FindStatusCondition(w.conditions("a"), runtimev1.DiscoveredCondition)
		if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "no answer within 10s") {
			t.Errorf("condition of a is %+v", condition)
		}
	})
}

// TestConditions checks the conditions of an ExtensionConfig. lastTransitionTime of a condition is the time of the
// last change of its status. observedGeneration is the generation at the last call of Discovery.
func TestConditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]http.HandlerFunc{"a": starting}, config("a"))
		expect := func(reason string, status metav1.ConditionStatus, generation int64, since time.Duration) {
			t.Helper()
			for _, kind := range []string{runtimev1.DiscoveredCondition, runtimev1.PausedCondition} {
				condition := meta.FindStatusCondition(w.conditions("a"), kind)
				if condition == nil || condition.ObservedGeneration != generation {
					t.Errorf("condition %s is %+v, not of generation %d (%s)", kind, condition, generation, reason)
				}
			}
			condition := meta.FindStatusCondition(w.conditions("a"), runtimev1.DiscoveredCondition)
			if condition.Status != status || !condition.LastTransitionTime.Time.Equal(w.began.Add(since)) {
				t.Errorf("condition is %+v, not %s since %s (%s)", condition, status, since, reason)
			}
		}
		expect("the first attempt fails", metav1.ConditionFalse, 1, 0)
		w.passes(time.Minute)
		w.change("a", newGeneration)
		expect("the condition stays false", metav1.ConditionFalse, 2, 0)
		w.becomes("a", working)
		w.change("a", newGeneration)
		expect("the attempt succeeds", metav1.ConditionTrue, 3, time.Minute)
		w.passes(3 * extensionconfig.DefaultPeriod)
		expect("nothing has changed", metav1.ConditionTrue, 3, time.Minute)
	})
}

// TestLongMessages checks that the message of a condition ends with a whole character. The server replaces a part of a
// character by another character, which the user never wrote.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, handler string }{
		{"even", "each é has two bytes, so the limit is inside of an é for either this name or the next one", strings.Repeat("é", 5000)},
		{"odd", "the first byte moves all é by one byte", "a" + strings.Repeat("é", 5000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprintf(w, `{"status":"Success","handlers":[{"name":%q}]}`, test.handler)
				}}, config("a"))
				message := meta.FindStatusCondition(w.conditions("a"), runtimev1.DiscoveredCondition).Message
				if len(message) < 4000 || !strings.HasSuffix(message, "é") {
					t.Errorf("the message has %d bytes, and ends with %q (%s)", len(message), message[max(0, len(message)-10):], test.reason)
				}
			})
		})
	}
}

// TestSecretIsFollowed checks that the caBundle is ca.crt of the Secret that the annotation names. When the Secret
// changes, the caBundle changes.
func TestSecretIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]http.HandlerFunc{"a": working}, config("a"))
		w.expectAsked("the start", "a", 0)
		w.passes(time.Second)
		w.change("a", annotate(runtimev1.InjectCAFromSecretAnnotation, "system/ca"))
		w.expectAsked("there is no Secret", "a")
		secrets := w.secrets.CoreV1().Secrets("system")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte("first")}}
		expect := func(reason, want string) {
			t.Helper()
			synctest.Wait()
			object, err := w.configs.Get(t.Context(), "a", metav1.GetOptions{})
			w.check(err)
			config := &runtimev1.ExtensionConfig{}
			w.check(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, config))
			if got := string(config.Spec.ClientConfig.CABundle); got != want {
				t.Errorf("the caBundle is %q, not %q (%s)", got, want, reason)
			}
		}
		_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
		w.check(err)
		expect("the Secret appears", "first")
		w.expectAsked("the Secret appears", "a", time.Second)
		secret.Data["ca.crt"] = []byte("second")
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
		w.check(err)
		expect("the Secret changes", "second")

		w.change("a", annotate("example.com/other", ""))
		secret.Data["ca.crt"] = []byte("third")
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
		w.check(err)
		expect("without the annotation, the Secret isn't followed", "second")
		w.change("a", annotate(runtimev1.InjectCAFromSecretAnnotation, "system/ca"))
		expect("the annotation is back", "third")
		w.check(secrets.Delete(t.Context(), "ca", metav1.DeleteOptions{}))
		expect("a Secret that is deleted takes nothing away", "third")
		condition := meta.FindStatusCondition(w.conditions("a"), runtimev1.DiscoveredCondition)
		if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "not found") {
			t.Errorf("condition is %+v", condition)
		}
		w.expectHandlers("the handlers of the last valid answer stay", "quota.a")
	})
}

// TestNewRefuses checks that the error of New names each missing option.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := extensionconfig.New(extensionconfig.Options{})
	for _, option := range []string{"Catalog", "Client", "Registry", "Dynamic", "Kubernetes"} {
		if err == nil || !strings.Contains(err.Error(), "Options."+option+" must be set") {
			t.Errorf("error %v doesn't name %s", err, option)
		}
	}
}
