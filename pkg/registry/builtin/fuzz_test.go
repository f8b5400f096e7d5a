package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand" //nolint:depguard // randfill takes a Source of math/rand
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/registry/rest"
	klog "k8s.io/klog/v2"
	"sigs.k8s.io/randfill"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// FuzzObjects creates, updates and prints random objects of every version of every kind. An invalid object may cause
// an error, but no panic.
func FuzzObjects(f *testing.F) {
	for seed, unset := range []float64{0.2, 0.5, 0.5, 0.8} {
		f.Add(int64(seed), unset)
	}
	f.Fuzz(func(t *testing.T, seed int64, unset float64) {
		t.Parallel()
		if !(unset >= 0 && unset <= 1) {
			t.Skip("the text is not a probability")
		}
		table := builtin.Table().Groups()
		for i := range table {
			for j := range table[i].Kinds {
				k := &table[i].Kinds[j]
				for n, gvk := range served(k) {
					source := rand.NewSource(seed + int64(1000*n))
					fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, anyValues), source, builtin.Table().Codecs()).
						NilChance(unset).NumElements(0, 2).MaxDepth(20)
					if err := send(t, k, gvk, fill); err != nil {
						t.Errorf("%s: %v", gvk, err)
					}
				}
			}
		}
	})
}

// send creates, updates and prints objects of a kind. It returns a panic as an error.
func send(t *testing.T, k *registry.Kind, gvk schema.GroupVersionKind, fill *randfill.Filler) (err error) {
	t.Helper()
	object := func() runtime.Object {
		sent, err := builtin.Table().Scheme().New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		fill.Fill(sent)
		builtin.Table().Scheme().Default(sent)
		hub := registry.NewOf(k.Object)()
		if err := builtin.Table().Scheme().Convert(sent, hub, nil); err != nil {
			t.Logf("%s: %v", gvk, err)
			return k.Object.DeepCopyObject()
		}
		m := registry.MetaOf(hub)
		m.SetName("a")
		m.SetUID("u")
		m.SetResourceVersion("1")
		m.SetDeletionTimestamp(nil)
		m.SetNamespace("")
		if k.Namespaced {
			m.SetNamespace("ns")
		}
		return hub
	}
	// Some validation also logs the errors that it returns, so the log is discarded.
	ctx := klog.NewContext(through(gvk.GroupVersion()), logr.Discard())
	table := printers.TableConvertor(printers.Default)
	if k.Printer != nil {
		table = printers.TableConvertor(*k.Printer)
	}
	show := func(o runtime.Object) {
		if _, err := table.ConvertToTable(ctx, o, nil); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
		if _, _, err := k.Attributes(o); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	created := object()
	if k.List == nil {
		return nil
	}
	main := builtin.Table().Strategy(k, registry.Dependencies{
		Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(),
		StoreOf:    func(schema.GroupResource) (*registry.Storage, error) { return nil, errors.New("there is no other row") },
		ResourceOf: func(schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
			return schema.GroupVersionResource{}, false
		},
	})
	strategies := []rest.RESTUpdateStrategy{main}
	if k.Status {
		strategies = append(strategies, registry.StatusStrategy{Strategy: main})
	}
	for _, sub := range k.Subresources {
		if sub.Update != nil {
			strategies = append(strategies, sub.Update(main))
		}
	}
	for _, s := range strategies {
		old, updated := object(), object()
		show(updated)
		_ = rest.BeforeUpdate(s, ctx, updated, old)
		show(updated)
		_ = rest.BeforeUpdate(s, ctx, old.DeepCopyObject(), old)
	}
	registry.MetaOf(created).SetResourceVersion("")
	rest.FillObjectMetaSystemFields(registry.MetaOf(created))
	_ = rest.BeforeCreate(main, ctx, created)
	main.CheckGracefulDelete(context.Background(), created, &metav1.DeleteOptions{})
	show(created)
	return nil
}

// anyValues returns functions that fill types that decoders make from text. Random fields could form a value that no
// decoder makes.
func anyValues(serializer.CodecFactory) []any {
	return []any{
		func(q *apiresource.Quantity, c randfill.Continue) {
			*q = *apiresource.NewMilliQuantity(c.Int63()-c.Int63(), apiresource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31() - c.Int31())
			if c.Bool() {
				*v = intstr.FromString([]string{"", "port", "%", "50%", "-1%", "99999999999%"}[c.Intn(6)])
			}
		},
		func(e *runtime.RawExtension, c randfill.Continue) {
			e.Raw = []byte([]string{"null", "{}", "[]", "1", `{"apiVersion":"v1","kind":"Pod"}`}[c.Intn(5)])
		},
		// Many fields of the type string have a format, such as a time zone, an address or an expression. These
		// texts make the code that parses these formats run.
		func(s *string, c randfill.Continue) {
			texts := []string{"", "a", "-", "a/b", "example.com/a", "*", "10.0.0.1", "::1", "10.0.0.0/8", "::/0", "* * * * *",
				"TZ=UTC * * * * *", "Europe/Berlin", "1Gi", "self", "a == b", "(", "[", "https://a/b?c#d", "a:b@sha256:c",
				"cpu", "hugepages-2Mi", "requests.cpu", "count/pods", "metadata.name", "metadata.labels['a']", "Exists", "In", "True"}
			if *s = c.String(0); c.Intn(5) > 0 {
				*s = texts[c.Intn(len(texts))]
			}
		},
	}
}
