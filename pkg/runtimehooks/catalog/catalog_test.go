package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// The example hook BeforeBackup has two versions. The older request has no field destination. The older response
// counts in minutes.

type requestV1 struct {
	metav1.TypeMeta
	Volume string `json:"volume"`
}

type responseV1 struct {
	metav1.TypeMeta
	WaitMinutes int `json:"waitMinutes"`
}

type requestV2 struct {
	metav1.TypeMeta
	Volume, Destination string
}

type responseV2 struct {
	metav1.TypeMeta
	WaitSeconds int
	Priority    string
}

func (r *requestV1) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *responseV1) DeepCopyObject() runtime.Object { c := *r; return &c }
func (r *requestV2) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *responseV2) DeepCopyObject() runtime.Object { c := *r; return &c }

type v1 struct{}

func (v1) hook() catalog.Hook { return BeforeBackup }

func BeforeBackup(*requestV1, *responseV1)         {}
func BeforeRestore(*requestV1, *responseV1)        {}
func TwoResults(*requestV1, *responseV1) error     { return nil }
func NoPointers(requestV1, responseV1)             {}
func NoObject(*requestV1, *struct{})               {}
func ThreeParameters(*requestV1, *responseV1, int) {}

var (
	groupV1 = schema.GroupVersion{Group: "hooks.backup.example", Version: "v1alpha1"}
	groupV2 = schema.GroupVersion{Group: "hooks.backup.example", Version: "v1beta1"}
	backup  = catalog.GroupHook{Group: "hooks.backup.example", Hook: "BeforeBackup"}
)

// newer defines the newer version of BeforeBackup. The function is a method, because a package can't have a second
// function BeforeBackup.
func newer() catalog.Definition { return catalog.Define(newerHooks.BeforeBackup, catalog.Metadata{}) }

var newerHooks hooksV2

type hooksV2 struct{}

func (hooksV2) BeforeBackup(*requestV2, *responseV2) {}

func down(in *requestV2, out *requestV1) error { out.Volume = in.Volume; return nil }
func up(in *responseV1, out *responseV2) error {
	if in.WaitMinutes < 0 {
		return errors.New("a wait is negative")
	}
	out.WaitSeconds, out.Priority = in.WaitMinutes*60, "normal"
	return nil
}

// twoVersions returns a catalog with both versions of BeforeBackup, and the conversions between them.
func twoVersions(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalog.New()
	if err := c.Register(groupV1, catalog.Define(BeforeBackup, catalog.Metadata{Summary: "old", Deprecated: true})); err != nil {
		t.Fatal(err)
	}
	if err := c.Register(groupV2, newer()); err != nil {
		t.Fatal(err)
	}
	if err := c.AddConversions(backup, catalog.Convert(down), catalog.Convert(up)); err != nil {
		t.Fatal(err)
	}
	return c
}

func gvh(gv schema.GroupVersion, hook string) catalog.GroupVersionHook {
	return catalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: hook}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		gv           schema.GroupVersion
		hook         catalog.Hook
		want         string // part of the error
	}{
		{name: "hook", reason: "the name of the function is the name of the hook", gv: groupV1, hook: BeforeBackup},
		{name: "again", reason: "packages that share hooks may each add them", gv: groupV1, hook: BeforeRestore},
		{name: "no group", reason: "a path begins with the group", gv: schema.GroupVersion{Version: "v1"},
			hook: BeforeBackup, want: "must have a group and a version"},
		{name: "no version", reason: "a path has the version", gv: schema.GroupVersion{Group: "g"}, hook: BeforeBackup,
			want: "must have a group and a version"},
		{name: "nil", reason: "a hook is a function, and nil is no function", gv: groupV1, want: "got <nil>"},
		{name: "no function", reason: "the types come from a function", gv: groupV1, hook: 3, want: "got int"},
		{name: "literal", reason: "the name comes from the function", gv: groupV1,
			hook: func(*requestV1, *responseV1) {}, want: "got the function literal"},
		{name: "result", reason: "a hook returns nothing, and fills its response", gv: groupV1, hook: TwoResults,
			want: "must be a func(*Request, *Response)"},
		{name: "structs", reason: "only pointers are objects", gv: groupV1, hook: NoPointers,
			want: "the request of the function, catalog_test.requestV1, must be a pointer"},
		{name: "response is no object", reason: "a response must implement runtime.Object", gv: groupV1, hook: NoObject,
			want: "the response of the function, *struct {}, must be a pointer"},
		{name: "three parameters", reason: "a hook has two parameters: a request and a response", gv: groupV1,
			hook: ThreeParameters, want: "must be a func(*Request, *Response)"},
		{name: "other types", reason: "a version of a hook never changes", gv: groupV1, hook: newerHooks.BeforeBackup,
			want: "is already registered with function"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := catalog.New()
			if err := c.Register(groupV1, catalog.Define(BeforeBackup, catalog.Metadata{}), catalog.Define(BeforeRestore, catalog.Metadata{})); err != nil {
				t.Fatal(err)
			}
			err := c.Register(test.gv, catalog.Define(test.hook, catalog.Metadata{}))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v (%s)", err, test.reason)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error is %v, lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
}

// sameTypes has a second function for the hook BeforeBackup. Its parameters have the same types as those of the
// function BeforeBackup of this file.
type sameTypes struct{}

func (sameTypes) BeforeBackup(*requestV1, *responseV1) {}

// TestRegisterTwoDefinitions checks that Register refuses a definition of a hook that differs from the registered
// definition. Without an error, a package could get the metadata of another package, or Describe wouldn't find the
// package's function.
func TestRegisterTwoDefinitions(t *testing.T) {
	t.Parallel()
	const first, second = "catalog_test.BeforeBackup", "catalog_test.sameTypes.BeforeBackup"
	plain := catalog.Define(BeforeBackup, catalog.Metadata{Tags: []string{"a"}})
	for _, test := range []struct {
		name, reason string
		definition   catalog.Definition
		want         []string // parts of the error
	}{
		{name: "the same", reason: "packages that share hooks may each add them",
			definition: catalog.Define(BeforeBackup, catalog.Metadata{Tags: []string{"a"}})},
		{
			name: "other function", reason: "the error names both functions, so that a developer finds both packages",
			definition: catalog.Define(sameTypes{}.BeforeBackup, catalog.Metadata{Tags: []string{"a"}}), want: []string{first, second},
		},
		{
			name: "other metadata", reason: "a hook can't be deprecated for one of two packages alone",
			definition: catalog.Define(BeforeBackup, catalog.Metadata{Tags: []string{"a"}, Deprecated: true}),
			want:       []string{"Deprecated:false", "Deprecated:true"},
		},
	} {
		for calls, register := range map[string]func(*catalog.Catalog) error{
			"one call": func(c *catalog.Catalog) error { return c.Register(groupV1, plain, test.definition) },
			"two calls": func(c *catalog.Catalog) error {
				if err := c.Register(groupV1, plain); err != nil {
					t.Fatal(err)
				}
				return c.Register(groupV1, test.definition)
			},
		} {
			t.Run(test.name+" in "+calls, func(t *testing.T) {
				t.Parallel()
				c := catalog.New()
				err := register(c)
				if (err != nil) != (test.want != nil) {
					t.Fatalf("error is %v (%s)", err, test.reason)
				}
				for _, part := range test.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error is %v, lacks %q (%s)", err, part, test.reason)
					}
				}
				if d := c.Hook(gvh(groupV1, "BeforeBackup")); d != nil && d.Deprecated {
					t.Errorf("the second definition has replaced the first (%s)", test.reason)
				}
			})
		}
	}
}

func TestRegisterAddsAllOrNone(t *testing.T) {
	t.Parallel()
	c := catalog.New()
	err := c.Register(groupV1, catalog.Define(BeforeBackup, catalog.Metadata{}), catalog.Define(NoPointers, catalog.Metadata{}), catalog.Define(3, catalog.Metadata{}))
	if err == nil || !strings.Contains(err.Error(), "NoPointers") || !strings.Contains(err.Error(), "got int") {
		t.Errorf("the error doesn't name both faults: %v", err)
	}
	if got := c.Hooks(); len(got) > 0 {
		t.Errorf("hooks were added: %v", got[0])
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	c := twoVersions(t)
	for hook, want := range map[string]struct {
		hook catalog.Hook
		gvh  catalog.GroupVersionHook
		path string
	}{
		"older": {v1{}.hook(), gvh(groupV1, "BeforeBackup"), "/hooks.backup.example/v1alpha1/beforebackup/to-tape"},
	} {
		d, err := c.Describe(want.hook)
		if err != nil {
			t.Fatal(err)
		}
		if d.GroupVersionHook != want.gvh {
			t.Errorf("%s is %s, not %s", hook, d, want.gvh)
		}
		if got := d.Path("To-Tape"); got != want.path {
			t.Errorf("%s has path %s, not %s", hook, got, want.path)
		}
		if _, ok := d.NewRequest().(*requestV1); !ok {
			t.Errorf("%s has requests of type %T", hook, d.NewRequest())
		}
		if d.Request != groupV1.WithKind("requestV1") || d.Response != groupV1.WithKind("responseV1") {
			t.Errorf("%s has kinds %s and %s", hook, d.Request, d.Response)
		}
	}
	if _, err := c.Describe(BeforeRestore); err == nil || !strings.Contains(err.Error(), "BeforeRestore") {
		t.Errorf("a hook that isn't in the catalog: %v", err)
	}
	var versions []string
	for _, d := range c.Versions(backup) {
		versions = append(versions, d.Version)
	}
	if diff := cmp.Diff([]string{"v1beta1", "v1alpha1"}, versions); diff != "" {
		t.Errorf("versions (-want +got): %s", diff)
	}
}

func TestConversion(t *testing.T) {
	t.Parallel()
	c := twoVersions(t)
	old, latest := c.Hook(gvh(groupV1, "BeforeBackup")), c.Hook(gvh(groupV2, "BeforeBackup"))
	request, err := c.ConvertRequest(&requestV2{Volume: "a", Destination: "tape"}, latest, old)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&requestV1{Volume: "a"}, request); diff != "" {
		t.Errorf("request (-want +got): %s", diff)
	}
	response := &responseV2{}
	if err := c.ConvertResponse(&responseV1{WaitMinutes: 2}, response, old, latest); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&responseV2{WaitSeconds: 120, Priority: "normal"}, response); diff != "" {
		t.Errorf("response (-want +got): %s", diff)
	}
	if err := c.ConvertResponse(&responseV1{WaitMinutes: -2}, response, old, latest); err == nil || !strings.Contains(err.Error(), "a wait is negative") {
		t.Errorf("the error of a conversion is lost: %v", err)
	}
	if err := c.ConvertResponse(&responseV2{}, &responseV1{}, latest, old); err == nil || !strings.Contains(err.Error(), "no conversion") {
		t.Errorf("a response went down: %v", err)
	}
}

// TestConversionIsWithinOneHook registers the same Go types for two hooks. A conversion for one hook must not apply
// to the other hook.
func TestConversionIsWithinOneHook(t *testing.T) {
	t.Parallel()
	c := twoVersions(t)
	if err := errors.Join(
		c.Register(groupV1, catalog.Define(BeforeRestore, catalog.Metadata{})),
		c.Register(groupV2, catalog.Define(newerRestore.BeforeRestore, catalog.Metadata{})),
	); err != nil {
		t.Fatal(err)
	}
	restore := catalog.GroupHook{Group: groupV1.Group, Hook: "BeforeRestore"}
	old, latest := c.Hook(gvh(groupV1, "BeforeRestore")), c.Hook(gvh(groupV2, "BeforeRestore"))
	if _, err := c.ConvertRequest(&requestV2{}, latest, old); err == nil {
		t.Error("BeforeRestore uses the conversion of BeforeBackup")
	}
	other := func(in *requestV2, out *requestV1) error { out.Volume = "restored " + in.Volume; return nil }
	if err := c.AddConversions(restore, catalog.Convert(other)); err != nil {
		t.Fatal(err)
	}
	got, err := c.ConvertRequest(&requestV2{Volume: "a"}, latest, old)
	if err != nil || got.(*requestV1).Volume != "restored a" {
		t.Errorf("BeforeRestore: %v, %v", got, err)
	}
	got, err = c.ConvertRequest(&requestV2{Volume: "a"}, c.Hook(gvh(groupV2, "BeforeBackup")), c.Hook(gvh(groupV1, "BeforeBackup")))
	if err != nil || got.(*requestV1).Volume != "a" {
		t.Errorf("BeforeBackup: %v, %v", got, err)
	}
	if _, err := c.ConvertRequest(&requestV2{}, latest, c.Hook(gvh(groupV1, "BeforeBackup"))); err == nil || !strings.Contains(err.Error(), "both must be versions of one hook in one group") {
		t.Errorf("a request of one hook became one of another: %v", err)
	}
	if err := c.AddConversions(restore, catalog.Convert(func(*requestV2, *responseV1) error { return nil })); err == nil {
		t.Error("a conversion of a request to a response was added")
	}
}

var newerRestore restoreV2

type restoreV2 struct{}

func (restoreV2) BeforeRestore(*requestV2, *responseV2) {}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := twoVersions(t).Check(); err != nil {
		t.Errorf("a catalog that keeps the rules: %v", err)
	}
	c := catalog.New()
	if err := errors.Join(
		c.Register(groupV1, catalog.Define(BeforeBackup, catalog.Metadata{})),
		c.Register(groupV2, catalog.Define(newerHooks.BeforeBackup, catalog.Metadata{Deprecated: true})),
	); err != nil {
		t.Fatal(err)
	}
	err := c.Check()
	for _, want := range []string{
		"v1beta1/BeforeBackup: its request doesn't convert down to version v1alpha1: add the conversion by AddConversions",
		"v1alpha1/BeforeBackup: its response doesn't convert up to version v1beta1: add the conversion by AddConversions",
		"v1beta1/BeforeBackup is deprecated, and no other version that is at least as stable",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	c := twoVersions(t)
	if _, err := c.OpenAPI(spec.Info{}); err == nil || !strings.Contains(err.Error(), "requestV1") {
		t.Errorf("types without schemas: %v", err)
	}
	c.AddSchemas(func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		const here = "github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog_test."
		object := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}}
		parent := object
		parent.Schema.Properties = map[string]spec.Schema{"volume": {SchemaProps: spec.SchemaProps{Ref: ref("x/y.Volume")}}}
		parent.Dependencies = []string{"x/y.Volume"}
		return map[string]common.OpenAPIDefinition{
			here + "requestV1": parent, here + "responseV1": object, here + "requestV2": parent, here + "responseV2": object,
			"x/y.Volume": object, "x/y.Unused": object,
		}
	})
	document, err := c.OpenAPI(spec.Info{InfoProps: spec.InfoProps{Title: "backups", Version: "v1"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Deprecated  bool
			Parameters  []struct{ Name, In string }
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.OpenAPI != "3.0.0" {
		t.Errorf("version is %s", got.OpenAPI)
	}
	old := got.Paths["/hooks.backup.example/v1alpha1/beforebackup/{name}"]["post"]
	if old.OperationID != "hooksBackupExampleV1alpha1BeforeBackup" || !old.Deprecated || len(old.Parameters) != 1 || old.Parameters[0].In != "path" {
		t.Errorf("the older version is %+v", old)
	}
	if latest := got.Paths["/hooks.backup.example/v1beta1/beforebackup/{name}"]["post"]; latest.Deprecated || latest.OperationID == "" {
		t.Errorf("the newer version is %+v", latest)
	}
	if got.Components.Schemas["x.y.Volume"] == nil || got.Components.Schemas["x.y.Unused"] != nil {
		t.Errorf("components are not what the hooks refer to: %v", got.Components.Schemas)
	}
}
