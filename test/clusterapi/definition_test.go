package miniapi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	// miniapi still serves the deprecated version v1alpha1, so the test compares it.
	capiv1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1" //nolint:staticcheck // see above
	capiruntime "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/definition"
)

// crd has the parts of a custom resource definition that matter to clients.
type crd struct {
	Spec struct {
		Scope    string         `json:"scope"`
		Names    map[string]any `json:"names"`
		Versions []struct {
			Name         string         `json:"name"`
			Served       bool           `json:"served"`
			Storage      bool           `json:"storage"`
			Deprecated   bool           `json:"deprecated"`
			Subresources map[string]any `json:"subresources"`
			Columns      []column       `json:"additionalPrinterColumns"`
			Schema       map[string]any `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// column is a printed column. The comparison ignores the order of the columns, because Cluster API and miniapi have
// Discovered and Paused in different orders.
type column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	JSONPath string `json:"jsonPath"`
}

// seen returns the properties of a definition that matter to clients: its scope, its names, and the properties of each
// version, such as the columns, and the fields with their types.
func (c crd) seen() map[string]any {
	all := map[string]any{"scope": c.Spec.Scope, "names": c.Spec.Names}
	for _, v := range c.Spec.Versions {
		slices.SortFunc(v.Columns, func(a, b column) int { return strings.Compare(a.Name, b.Name) })
		fields := map[string]string{}
		collect(fields, "", v.Schema["openAPIV3Schema"].(map[string]any))
		all[v.Name] = map[string]any{
			"served": v.Served, "storage": v.Storage, "deprecated": v.Deprecated, "subresources": v.Subresources,
			"columns": v.Columns, "fields": fields,
		}
	}
	return all
}

// collect adds the fields below a path, with their type, format and allowed values.
func collect(fields map[string]string, path string, schema map[string]any) {
	fields[path] = fmt.Sprint(schema["type"], " ", schema["format"], " ", schema["enum"])
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		collect(fields, path+"."+name, property.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if of, is := schema[key].(map[string]any); is {
			collect(fields, path+"[]", of)
		}
	}
}

// TestDefinition compares miniapi's custom resource definition of ExtensionConfig with Cluster API's: the names,
// columns and fields, in both versions.
func TestDefinition(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(out)), "core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got crd
	if err := yaml.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(definition.YAML(), &got); err != nil {
		t.Fatal(err)
	}
	wanted := want.seen()
	// In Cluster API's custom resource definition, the operator of a selector has no enum: a webhook refuses unknown
	// operators.
	for _, version := range []string{"v1alpha1", "v1beta2"} {
		wanted[version].(map[string]any)["fields"].(map[string]string)[".spec.namespaceSelector.matchExpressions[].operator"] = "string <nil> [In NotIn Exists DoesNotExist]"
	}
	if diff := cmp.Diff(wanted, got.seen()); diff != "" {
		t.Errorf("(-Cluster API's +ours): %s", diff)
	}
}

// TestConversion compares miniapi's conversions of ExtensionConfigs between versions with Cluster API's, for objects
// with all fields and for objects without fields.
func TestConversion(t *testing.T) {
	t.Parallel()
	for _, filled := range []bool{true, false} {
		t.Run(fmt.Sprintf("filled %t", filled), func(t *testing.T) {
			t.Parallel()
			older, newer := &capiv1alpha1.ExtensionConfig{}, &capiruntime.ExtensionConfig{}
			if filled {
				fill(reflect.ValueOf(older).Elem(), -maxDepth)
				fill(reflect.ValueOf(newer).Elem(), -maxDepth)
			}
			older.APIVersion, older.Kind = capiv1alpha1.GroupVersion.String(), "ExtensionConfig"
			newer.APIVersion, newer.Kind = capiruntime.GroupVersion.String(), "ExtensionConfig"
			up, down := &capiruntime.ExtensionConfig{TypeMeta: newer.TypeMeta}, &capiv1alpha1.ExtensionConfig{TypeMeta: older.TypeMeta}
			if err := conversion.ConvertExtensionConfigV1Alpha1ToHub(context.Background(), older.DeepCopy(), up); err != nil {
				t.Fatal(err)
			}
			if err := conversion.ConvertExtensionConfigHubToV1Alpha1(context.Background(), newer.DeepCopy(), down); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct{ from, want any }{{older, up}, {newer, down}} {
				apiVersion := reflect.ValueOf(test.want).Elem().FieldByName("APIVersion").String()
				got, err := definition.Convert(marshal(t, test.from), apiVersion)
				if err != nil {
					t.Fatal(err)
				}
				var wantTree, gotTree any
				if err := json.Unmarshal(marshal(t, test.want), &wantTree); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(got, &gotTree); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wantTree, gotTree); diff != "" {
					t.Errorf("to %s (-Cluster API's +ours): %s", apiVersion, diff)
				}
			}
		})
	}
}
