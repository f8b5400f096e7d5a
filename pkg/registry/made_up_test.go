package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/emicklei/go-restful/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// These are the Go types of a kind that exists only in these tests. The group of the kind has two versions. In
// v1alpha1, the field litres has the name "size".
type (
	Kettle struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              KettleSpec   `json:"spec,omitzero"`
		Status            KettleStatus `json:"status,omitzero"`
	}
	KettleSpec struct {
		Litres int32 `json:"litres"`
	}
	KettleStatus struct {
		Boiling bool `json:"boiling"`
	}
	KettleList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitzero"`
		Items           []Kettle `json:"items"`
	}
	oldKettle struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              oldKettleSpec `json:"spec,omitzero"`
		Status            KettleStatus  `json:"status,omitzero"`
	}
	oldKettleSpec struct {
		Size int32 `json:"size"`
	}
	oldKettleList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitzero"`
		Items           []oldKettle `json:"items"`
	}
)

func (k *Kettle) DeepCopyObject() runtime.Object {
	out := *k
	k.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (l *KettleList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Kettle, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Kettle)
	}
	return &out
}

func (k *oldKettle) DeepCopyObject() runtime.Object {
	out := *k
	k.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (l *oldKettleList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]oldKettle, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*oldKettle)
	}
	return &out
}

var (
	kettleV1       = schema.GroupVersion{Group: "kitchen.example.com", Version: "v1"}
	kettleV1alpha1 = schema.GroupVersion{Group: "kitchen.example.com", Version: "v1alpha1"}
)

// kettle is the made-up kind of these tests: the only row of their table of kinds.
var kettle = registry.Kind{
	Resource:   "kettles",
	ShortNames: []string{"kt"},
	Namespaced: true,
	Object:     &Kettle{}, List: &KettleList{},
	Status:     true,
	Generation: true,
	Defaults: []registry.Default{registry.DefaultOf(func(k *Kettle) {
		if k.Spec.Litres == 0 {
			k.Spec.Litres = 2
		}
	})},
	Hooks: registry.HooksOf[*Kettle]{
		Validate: func(k *Kettle) field.ErrorList {
			if k.Spec.Litres > 5 {
				return field.ErrorList{field.Invalid(field.NewPath("spec", "litres"), k.Spec.Litres, "must be less than or equal to 5")}
			}
			return nil
		},
		Warnings: func(_ context.Context, k, _ *Kettle) []string {
			if k.Spec.Litres == 1 {
				return []string{"spec.litres: one cup"}
			}
			return nil
		},
	},
	Fields: registry.FieldsOf[*Kettle]{
		Values: func(k *Kettle) fields.Set {
			return fields.Set{"status.boiling": map[bool]string{true: "yes", false: "no"}[k.Status.Boiling]}
		},
		Names: []string{"status.boiling"},
	},
	Printer: &printers.Printer{
		Columns: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}, {Name: "Litres", Type: "integer"}},
		Cells: func(obj runtime.Object) []any {
			k := obj.(*Kettle)
			return []any{k.Name, int64(k.Spec.Litres)}
		},
	},
}

// kitchen is the group of the kind, with its versions and the conversion between them.
var kitchen = registry.Group{
	Name: kettleV1.Group,
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: func(s *runtime.Scheme) error {
			s.AddKnownTypes(kettleV1, &Kettle{}, &KettleList{})
			return nil
		}},
		{Name: "v1alpha1", AddToScheme: func(s *runtime.Scheme) error {
			s.AddKnownTypeWithName(kettleV1alpha1.WithKind("Kettle"), &oldKettle{})
			s.AddKnownTypeWithName(kettleV1alpha1.WithKind("KettleList"), &oldKettleList{})
			return nil
		}},
	},
	Conversions: []conversion.Function{
		conversion.Renamed(func(in *oldKettle, out *Kettle) error {
			out.Spec.Litres = in.Spec.Size
			return nil
		}),
		conversion.Renamed(func(in *Kettle, out *oldKettle) error {
			out.Spec.Size = in.Spec.Litres
			return nil
		}),
	},
	Kinds: []registry.Kind{kettle},
}

// TestMadeUpKind checks that a server can serve a kind by its registry.Kind alone. The test serves a table with one
// kind over HTTP.
func TestMadeUpKind(t *testing.T) {
	t.Parallel()
	c := kettles{t, serve(t, kitchen) + "/apis/kitchen.example.com/v1/namespaces/ns/kettles"}

	created := c.send(http.MethodPost, "", `{"metadata": {"name": "a"}, "status": {"boiling": true}}`, http.StatusCreated)
	if got := (KettleSpec{2}); created.Spec != got || created.Generation != 1 || created.Status.Boiling {
		t.Errorf("created %+v, want the default, a first generation and no status", created)
	}
	c.do(http.MethodPost, "", `{"metadata": {"name": "b"}, "spec": {"litres": 6}}`, http.StatusUnprocessableEntity)
	small := c.request(http.MethodPost, "", `{"metadata": {"name": "c"}, "spec": {"litres": 1}}`, runtime.ContentTypeJSON)
	if got, want := small.Header.Get("Warning"), `299 - "spec.litres: one cup"`; got != want {
		t.Errorf("a small one warns %q, want %q", got, want)
	}
	if got := c.send(http.MethodGet, "/a", "", http.StatusOK); got.Spec != created.Spec {
		t.Errorf("read %+v, created %+v", got, created)
	}
	old := c
	old.url = strings.Replace(c.url, "/v1/", "/v1alpha1/", 1)
	if got := old.do(http.MethodGet, "/a", "", http.StatusOK); !strings.Contains(got, `"size":2`) {
		t.Errorf("v1alpha1 answers %s", got)
	}

	events := c.watch("?watch=true&fieldSelector=metadata.name=a&resourceVersion=" + created.ResourceVersion)
	created.Spec.Litres = 3
	updated := c.send(http.MethodPut, "/a", encode(t, created), http.StatusOK)
	if updated.Spec.Litres != 3 || updated.Generation != 2 {
		t.Errorf("updated %+v, want 3 litres and a second generation", updated)
	}
	updated.Spec.Litres, updated.Status.Boiling = 4, true
	boiling := c.send(http.MethodPut, "/a/status", encode(t, updated), http.StatusOK)
	if boiling.Spec.Litres != 3 || !boiling.Status.Boiling || boiling.Generation != 2 {
		t.Errorf("the status endpoint made %+v, want the status and nothing else", boiling)
	}
	c.table()
	c.do(http.MethodDelete, "/a", "", http.StatusOK)
	c.do(http.MethodGet, "/a", "", http.StatusNotFound)
	for _, want := range []string{"MODIFIED", "MODIFIED", "DELETED"} {
		var event struct{ Type string }
		if err := events.Decode(&event); err != nil || event.Type != want {
			t.Fatalf("watched %q, %v; want %q", event.Type, err, want)
		}
	}
}

// kettles is a client for the made-up kind Kettle.
type kettles struct {
	t   *testing.T
	url string
}

func (c kettles) do(method, path, body string, code int) string {
	c.t.Helper()
	res := c.request(method, path, body, runtime.ContentTypeJSON)
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != code {
		c.t.Fatalf("%s %q answers %d, want %d: %s", method, path, res.StatusCode, code, data)
	}
	return string(data)
}

func (c kettles) request(method, path, body, accept string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewBufferString(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", runtime.ContentTypeJSON)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// send sends a request, and returns the kettle in the response.
func (c kettles) send(method, path, body string, code int) Kettle {
	c.t.Helper()
	var k Kettle
	if err := json.Unmarshal([]byte(c.do(method, path, body, code)), &k); err != nil {
		c.t.Fatal(err)
	}
	return k
}

func (c kettles) watch(query string) *json.Decoder {
	c.t.Helper()
	return json.NewDecoder(c.request(http.MethodGet, query, "", runtime.ContentTypeJSON).Body)
}

// table checks the table of the kettles that the field selector status.boiling=yes selects.
func (c kettles) table() {
	c.t.Helper()
	var table metav1.Table
	res := c.request(http.MethodGet, "?fieldSelector=status.boiling=yes", "", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if err := json.NewDecoder(res.Body).Decode(&table); err != nil {
		c.t.Fatal(err)
	}
	if len(table.ColumnDefinitions) != 2 || len(table.Rows) != 1 {
		c.t.Fatalf("the table is %+v", table)
	}
	if diff := cmp.Diff([]any{"a", 3.0}, table.Rows[0].Cells); diff != "" {
		c.t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func encode(t *testing.T, obj any) string {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// serve serves a table of groups over HTTP, on an etcd of its own. It returns the address.
func serve(t *testing.T, groups ...registry.Group) string {
	t.Helper()
	table, err := registry.NewTable(groups...)
	if err != nil {
		t.Fatal(err)
	}
	built, err := table.Build(table.DefaultAPIs(), registry.Dependencies{
		RESTOptions: registrytest.RESTOptions(registrytest.Start(t), table),
		Written:     func(schema.GroupResource, runtime.Object) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	container := restful.NewContainer()
	for _, g := range built {
		for _, gv := range g.Versions {
			for _, s := range g.Storage[gv.Version] {
				t.Cleanup(s.Destroy)
			}
			install(t, container, table, g.Storage, gv)
		}
	}
	resolver := &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()}
	server := httptest.NewServer(genericapifilters.WithRequestInfo(genericapifilters.WithWarningRecorder(container), resolver))
	t.Cleanup(server.Close)
	return server.URL
}

// install adds the routes of one version.
func install(t *testing.T, container *restful.Container, table *registry.Table, storages map[string]map[string]rest.Storage, gv schema.GroupVersion) {
	t.Helper()
	served := map[string][]string{}
	for resource := range storages[gv.Version] {
		served[resource] = append(served[resource], gv.String())
	}
	scheme := table.Scheme()
	version := genericapi.APIGroupVersion{
		Root: "/apis", GroupVersion: gv, Storage: storages[gv.Version],
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      &schema.GroupVersion{Version: "v1"},

		Serializer: table.Serializer(), ParameterCodec: table.ParameterCodec(), UnsafeConvertor: table.UnsafeConvertor(),
		Creater: scheme, Convertor: scheme, ConvertabilityChecker: scheme, Defaulter: scheme, Typer: scheme,
		Namer: runtime.Namer(meta.NewAccessor()), TypeConverter: managedfields.NewDeducedTypeConverter(),

		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
	}
	if _, _, err := version.InstallREST(container); err != nil {
		t.Fatal(err)
	}
}

// TestMadeUpAlphaVersion checks that LegacyAPIs leaves out the alpha version of a made-up kind, so a server serves the
// version by default. LegacyAPIs has the alpha versions of Kubernetes' own kinds that Kubernetes has removed.
func TestMadeUpAlphaVersion(t *testing.T) {
	t.Parallel()
	table, err := registry.NewTable(kitchen)
	if err != nil {
		t.Fatal(err)
	}
	if legacy := table.LegacyAPIs(version.MajorMinor(1, 37)); len(legacy) > 0 {
		t.Errorf("these resources are served on demand alone: %v", legacy)
	}
}

// TestStoredInJSON checks that StoredInJSON returns a stored kind whose Go type has no protobuf encoding. The
// server stores such a kind in JSON.
func TestStoredInJSON(t *testing.T) {
	t.Parallel()
	table, err := registry.NewTable(kitchen)
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupResource{{Group: kitchen.Name, Resource: kettle.Resource}}
	if diff := cmp.Diff(want, table.StoredInJSON()); diff != "" {
		t.Errorf("the resources that are stored in JSON differ (-want +got):\n%s", diff)
	}
}
