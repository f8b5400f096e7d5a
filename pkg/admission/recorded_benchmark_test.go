package admission

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// idle is a mutating and validating plugin that does nothing.
type idle struct{ *admission.Handler }

func (idle) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return nil
}

func (idle) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return nil
}

// BenchmarkRecording measures a request that creates a ConfigMap, in a chain of 14 plugins that do nothing. "plain" is
// the chain without code that records. "off" has that code, but records nothing. "on" records each request. The
// differences are the price of recording, except for the garbage collection that it causes later.
func BenchmarkRecording(b *testing.B) {
	const plugins = 14
	var plain, recorded []admission.Interface
	for i := range plugins {
		plugin := idle{admission.NewHandler(admission.Create)}
		named := newRecordedPlugin(fmt.Sprint("Plugin", i), nil, plugin)
		named.Interface = plugin
		plain, recorded = append(plain, plugin), append(recorded, named)
	}
	interfaces := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"app": "web"}},
		Data:       map[string]string{"key": "value"},
	}
	kind, resource := corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithResource("configmaps")
	admit := func(ctx context.Context, b *testing.B, chain admission.Interface) {
		b.Helper()
		attributes := admission.NewAttributesRecord(object, nil, kind, "default", "a", resource, "", admission.Create, nil, false, &user.DefaultInfo{Name: "alice"})
		if err := chain.(admission.MutationInterface).Admit(ctx, attributes, interfaces); err != nil {
			b.Fatal(err)
		}
		if err := chain.(admission.ValidationInterface).Validate(ctx, attributes, interfaces); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		chain := admission.NewChainHandler(plain...)
		for b.Loop() {
			admit(b.Context(), b, chain)
		}
	})
	chain := &recordedChain{Interface: admission.NewChainHandler(recorded...)}
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			admit(b.Context(), b, chain)
		}
	})
	b.Run("on", func(b *testing.B) {
		b.ReportAllocs()
		kept := recorder.New(recorder.Limits{Requests: 1000})
		for b.Loop() {
			recording := kept.Begin(trace.Request{Verb: "create", Resource: trace.Resource{Version: "v1", Resource: "configmaps"}})
			admit(recorder.Within(b.Context(), &recorder.Scope{Recording: recording}), b, chain)
			recording.Finish()
		}
	})
}
