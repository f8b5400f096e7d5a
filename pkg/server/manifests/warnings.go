package manifests

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// collector adds the warnings of a request to the list that collect put into the request's context.
type collector struct{}

type collectedKey struct{}

// collect returns a context for requests whose warnings are added to the list. The requests must be made one after the
// other.
func collect(ctx context.Context, warnings *[]string) context.Context {
	return context.WithValue(ctx, collectedKey{}, warnings)
}

// warningCode is the HTTP warning code that Kubernetes APIs use.
const warningCode = 299

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (collector) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if warnings, ok := ctx.Value(collectedKey{}).(*[]string); ok && code == warningCode && text != "" {
		*warnings = append(*warnings, text)
	}
}

// warned is an applied object with the server's warnings.
type warned struct {
	Object
	warnings []string
}

// warn logs the server's warnings, or passes them to Warn. Warnings about the configuration of a webhook are kept until
// the end: the configuration may name something that is applied later.
func (a *application) warn(ctx context.Context, object Object, warnings []string) {
	if len(warnings) > 0 && object.GroupVersionKind().Group == admissionregistrationv1.GroupName {
		a.warned = append(a.warned, warned{object, warnings})
		return
	}
	a.tell(ctx, object, warnings)
}

func (a *application) tell(ctx context.Context, object Object, warnings []string) {
	for _, text := range warnings {
		if a.Warn != nil {
			a.Warn(object, text)
			continue
		}
		klog.FromContext(ctx).Info("Warning: "+text, "source", object.Source, "kind", object.GetKind(), "name", object.GetName())
	}
}

// warnAtEnd repeats the kept objects as a dry run, and passes on the warnings that the server still has. A dry run has
// no effect on webhooks: they aren't called for their own configurations.
func (a *application) warnAtEnd(ctx context.Context) {
	for _, w := range a.warned {
		var now []string
		if err := a.apply(collect(ctx, &now), w.Object, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			now = w.warnings
		}
		a.tell(ctx, w.Object, now)
	}
}
