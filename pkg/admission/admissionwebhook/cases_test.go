package admissionwebhook

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	metricstestutil "k8s.io/component-base/metrics/testutil"
)

const namespace = "webhook-test"

// The dispatcher passes k8s.io/apiserver's own test cases for mutating webhooks.
//
//nolint:paralleltest // the cases check metrics that the whole process shares
func TestLibraryMutatingCases(t *testing.T) {
	server := testServer(t)
	const configuration = "test-webhooks"
	cases := webhooktesting.NewMutatingTestCases(server, configuration)
	cases = append(cases, webhooktesting.ConvertToMutatingTestCases(webhooktesting.NewNonMutatingTestCases(server), configuration)...)
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			plugin, err := NewMutating(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, factory := webhooktesting.NewFakeMutatingDataSource(namespace, tc.Webhooks, t.Context().Done())
			start(t, plugin, server, webhooktesting.NewAuthenticationInfoResolver(new(int32)), client, factory)
			attributes := testAttributes(tc.IsCRD, tc.AdditionalLabels, tc.IsDryRun)
			admissionmetrics.Metrics.WebhookRejectionGathererForTest().Reset()

			err = plugin.Admit(audited(t, auditinternal.LevelRequest), attributes, webhooktesting.NewObjectInterfacesForTest())

			check(t, err, attributes, expectation{tc.ExpectAllow, tc.ErrorContains, tc.ExpectStatusCode, tc.ExpectLabels, tc.ExpectAnnotations, tc.ExpectRejectionMetrics})
			calls, _ := attributes.GetReinvocationContext().Value(mutating.PluginName).(*reinvocation)
			for name, want := range tc.ExpectReinvokeWebhooks {
				if got := calls != nil && calls.due.Has(configuration+"/"+name+"/0"); got != want {
					t.Errorf("%s is called again: want %t, got %t", name, want, got)
				}
			}
		})
	}
}

// The dispatcher passes k8s.io/apiserver's own test cases for validating webhooks.
//
//nolint:paralleltest // the cases check metrics that the whole process shares
func TestLibraryValidatingCases(t *testing.T) {
	server := testServer(t)
	run := func(tc webhooktesting.ValidatingTest, authentication webhookutil.AuthenticationInfoResolver) {
		t.Run(tc.Name, func(t *testing.T) {
			plugin, err := NewValidating(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, factory := webhooktesting.NewFakeValidatingDataSource(namespace, tc.Webhooks, t.Context().Done())
			start(t, plugin, server, authentication, client, factory)
			attributes := testAttributes(tc.IsCRD, tc.AdditionalLabels, tc.IsDryRun)
			admissionmetrics.Metrics.WebhookRejectionGathererForTest().Reset()

			err = plugin.Validate(audited(t, auditinternal.LevelRequest), attributes, webhooktesting.NewObjectInterfacesForTest())

			check(t, err, attributes, expectation{tc.ExpectAllow, tc.ErrorContains, tc.ExpectStatusCode, tc.ExpectLabels, tc.ExpectAnnotations, tc.ExpectRejectionMetrics})
		})
	}
	for _, tc := range webhooktesting.NewNonMutatingTestCases(server) {
		run(tc, webhooktesting.NewAuthenticationInfoResolver(new(int32)))
	}
	for _, tc := range webhooktesting.NewNonMutatingPanicTestCases(server) {
		tc.ExpectStatusCode = http.StatusInternalServerError // k8s.io/apiserver's own test doesn't check the code of these cases
		run(tc, webhooktesting.NewPanickingAuthenticationInfoResolver("Start panicking!"))
	}
}

// expectation is the result that a case of k8s.io/apiserver expects.
type expectation struct {
	allow         bool
	errorContains string
	code          int32
	labels        map[string]string
	annotations   map[string]string
	rejections    string
}

func check(t *testing.T, err error, attributes admission.Attributes, want expectation) {
	t.Helper()
	if want.allow != (err == nil) {
		t.Errorf("want allowed %t, got error %v", want.allow, err)
	}
	if err != nil {
		status, ok := err.(apierrors.APIStatus)
		if !ok {
			t.Errorf("want a status, got %T: %v", err, err)
		} else if status.Status().Code != want.code {
			t.Errorf("want code %d, got %d", want.code, status.Status().Code)
		}
		if !strings.Contains(err.Error(), want.errorContains) {
			t.Errorf("want an error with %q, got %v", want.errorContains, err)
		}
	}
	if want.labels != nil {
		object, err := meta.Accessor(attributes.GetObject())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.labels, object.GetLabels()); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	}
	got := attributes.(*webhooktesting.FakeAttributes).GetAnnotations(auditinternal.LevelRequest)
	if diff := cmp.Diff(want.annotations, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if want.rejections != "" {
		const name = "apiserver_admission_webhook_rejection_count"
		counter := admissionmetrics.Metrics.WebhookRejectionGathererForTest()
		header := fmt.Sprintf("# HELP %s %s\n# TYPE %s counter\n", name, counter.Help, name)
		if err := metricstestutil.CollectAndCompare(counter, strings.NewReader(header+want.rejections+"\n"), name); err != nil {
			t.Error(err)
		}
	}
}

// start gives a plugin its dependencies. Calls of webhooks with a service go to the argument server.
func start(t *testing.T, plugin wants, server *url.URL, authentication webhookutil.AuthenticationInfoResolver, client kubernetes.Interface, factory informers.SharedInformerFactory) {
	t.Helper()
	plugin.SetAuthenticationInfoResolverWrapper(webhooktesting.Wrapper(authentication))
	plugin.SetServiceResolver(webhooktesting.NewServiceResolver(*server))
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	if err := plugin.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(factory.Shutdown)
}

// testServer starts an HTTPS server with the webhooks that k8s.io/apiserver's test cases call.
func testServer(t *testing.T) *url.URL {
	t.Helper()
	server := webhooktesting.NewTestServer(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func testAttributes(custom bool, labels map[string]string, dryRun bool) admission.Attributes {
	if custom {
		return webhooktesting.NewAttributeUnstructured(namespace, labels, dryRun)
	}
	return webhooktesting.NewAttribute(namespace, labels, dryRun)
}

// audited returns the context of a request with an audit level.
func audited(t *testing.T, level auditinternal.Level) context.Context {
	t.Helper()
	ctx := audit.WithAuditContext(t.Context())
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: level}, nil); err != nil {
		t.Fatal(err)
	}
	return ctx
}
