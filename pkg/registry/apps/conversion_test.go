package apps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/autoscaling"
	"github.com/miniapi-dev/miniapi/pkg/registry/extensions"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group, extensions.Group, autoscaling.Group), []registrytest.ConversionCase{
		{
			Name:     "rollback",
			Reason:   "a field of extensions/v1beta1 becomes an annotation of apps/v1",
			Manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, spec: {rollbackTo: {revision: 3}, template: {}}}`,
			To:       &appsv1.Deployment{},
			Path:     "metadata",
			Want:     `{annotations: {deprecated.deployment.rollback.to: "3"}}`,
		},
		{
			Name:     "annotation without a rollback",
			Reason:   "the annotation has no meaning in extensions/v1beta1 and is dropped",
			Manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {annotations: {deprecated.deployment.rollback.to: "3"}}, spec: {template: {}}}`,
			To:       &appsv1.Deployment{},
			Path:     "metadata",
			Want:     `{}`,
		},
		{
			Name:     "template generation",
			Reason:   "an annotation of apps/v1 becomes a field of extensions/v1beta1",
			Manifest: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {deprecated.daemonset.template.generation: "7"}}, spec: {template: {}}}`,
			To:       &extensionsv1beta1.DaemonSet{},
			Path:     "spec.templateGeneration",
			Want:     `7`,
		},
		{
			Name:     "scale with a selector of labels",
			Reason:   "old versions have the selector as a string and as a map",
			Manifest: `{apiVersion: autoscaling/v1, kind: Scale, status: {replicas: 2, selector: "a=b"}}`,
			To:       &extensionsv1beta1.Scale{},
			Path:     "status",
			Want:     `{replicas: 2, selector: {a: b}, targetSelector: a=b}`,
		},
		{
			Name:     "scale with a selector of expressions",
			Reason:   "a map can't contain expressions",
			Manifest: `{apiVersion: autoscaling/v1, kind: Scale, status: {replicas: 2, selector: "a in (b,c)"}}`,
			To:       &extensionsv1beta1.Scale{},
			Path:     "status",
			Want:     `{replicas: 2, targetSelector: "a in (b,c)"}`,
		},
		{
			Name:     "list",
			Reason:   "each item of a list is converted",
			Manifest: `{apiVersion: extensions/v1beta1, kind: DaemonSetList, metadata: {resourceVersion: "9"}, items: [{metadata: {name: d}, spec: {templateGeneration: 2, template: {}}}]}`,
			To:       &appsv1.DaemonSetList{},
			Path:     "items.0.metadata",
			Want:     `{name: d, annotations: {deprecated.daemonset.template.generation: "2"}}`,
		},
	})
}

// TestConvertOverwrites checks that a conversion into an object that isn't empty replaces the fields of the object,
// such as its labels. For example, after a webhook has patched an object, the admission chain converts the patched
// object, and writes the result into the existing object of the request.
func TestConvertOverwrites(t *testing.T) {
	t.Parallel()
	s := registrytest.Table(t, Group, extensions.Group).Scheme()
	for _, c := range []struct {
		name, reason string
		in, out      runtime.Object
	}{
		{
			name:   "same type",
			reason: "apps/v1 has the Go types of the hub",
			in:     registrytest.Decode(t, s, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: new}, spec: {template: {}}}`),
			out: registrytest.Decode(t, s,
				`{apiVersion: apps/v1, kind: Deployment, metadata: {name: old, labels: {a: b}}, spec: {template: {}}}`),
		},
		{
			name:   "another version",
			reason: "the conversion leaves no field of the earlier object",
			in: registrytest.Decode(t, s,
				`{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: new}, spec: {template: {}}}`),
			out: registrytest.Decode(t, s,
				`{apiVersion: apps/v1, kind: Deployment, metadata: {name: old, labels: {a: b}}, spec: {template: {}}}`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := s.Convert(c.in, c.out, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(map[string]any{"name": "new"}), registrytest.At(registrytest.AsMap(t, c.out), "metadata")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if got := c.out.GetObjectKind().GroupVersionKind(); got != appsv1.SchemeGroupVersion.WithKind("Deployment") {
				t.Errorf("the converted object has kind %v", got)
			}
		})
	}
}

// TestCanonicalAnnotations checks the annotations that are fields of kube-apiserver's internal types, in an object that
// is decoded, converted for an apply, and copied from a webhook's answer.
func TestCanonicalAnnotations(t *testing.T) {
	t.Parallel()
	const (
		generation, revision = "deprecated.daemonset.template.generation", "deprecated.deployment.rollback.to"
		noNumber             = `strconv.ParseInt: parsing "x": invalid syntax`
	)
	table := registrytest.Table(t, Group, extensions.Group)
	for _, c := range []struct {
		name, reason, kind, annotation, value string
		want, err                             string
	}{
		{"template generation", "a number is written in its shortest form", "DaemonSet", generation, "+07", "7", ""},
		{"generation that is no number", "the conversion of kube-apiserver refuses it", "DaemonSet", generation, "x", "", noNumber},
		{"empty generation", "an empty text is no number", "DaemonSet", generation, "", "",
			`strconv.ParseInt: parsing "": invalid syntax`},
		{"revision", "a number is written in its shortest form", "Deployment", revision, "007", "7", ""},
		{"revision that is no number", "the error names the annotation", "Deployment", revision, "x", "",
			"failed to parse annotation[" + revision + "]=x as int64: " + noNumber},
		{"empty revision", "an empty text stands for no rollback", "Deployment", revision, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hub := schema.GroupVersion{Group: Group.Name, Version: runtime.APIVersionInternal}
			sent, err := table.Scheme().New(appsv1.SchemeGroupVersion.WithKind(c.kind))
			if err != nil {
				t.Fatal(err)
			}
			registry.MetaOf(sent).SetAnnotations(map[string]string{c.annotation: c.value})
			data, err := runtime.Encode(table.Codecs().LegacyCodec(appsv1.SchemeGroupVersion), sent.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			serializer := table.Serializer()
			decoded, _, decodeErr := serializer.DecoderToVersion(serializer.SupportedMediaTypes()[0].Serializer, hub).Decode(data, nil, nil)
			converted, convertErr := table.UnsafeConvertor().ConvertToVersion(sent, hub)
			copied, _ := table.Scheme().New(appsv1.SchemeGroupVersion.WithKind(c.kind))
			copyErr := table.Scheme().Convert(sent, copied, nil)
			for way, result := range map[string]struct {
				obj runtime.Object
				err error
			}{"decoded": {decoded, decodeErr}, "converted": {converted, convertErr}, "copied": {copied, copyErr}} {
				if c.err != "" {
					if result.err == nil || result.err.Error() != c.err {
						t.Errorf("%s: error %v, want %s: %s", way, result.err, c.err, c.reason)
					}
				} else if result.err != nil {
					t.Errorf("%s: %v", way, result.err)
				} else if got := registry.MetaOf(result.obj).GetAnnotations()[c.annotation]; got != c.want {
					t.Errorf("%s: %s %q, want %q: %s", way, c.annotation, got, c.want, c.reason)
				}
			}
			if got := registry.MetaOf(sent).GetAnnotations()[c.annotation]; got != c.value {
				t.Errorf("the conversions have changed their original: %s is %q", c.annotation, got)
			}
		})
	}
}
