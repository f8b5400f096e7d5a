// Command featuregates generates the table of kube-apiserver's feature gates from the sources of Kubernetes. It reads
// the declarations and doesn't compile them, so that miniapi never depends on k8s.io/kubernetes.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.kubernetes, "kubernetes", "", "the folder of the module k8s.io/kubernetes")
	flag.StringVar(&o.controllerManager, "controller-manager", "", "the folder of the module k8s.io/controller-manager")
	flag.StringVar(&o.clientGo, "client-go", "", "the folder of the module k8s.io/client-go")
	flag.StringVar(&o.api, "api", "", "the folder of the module k8s.io/api")
	flag.StringVar(&o.header, "go-header-file", "", "a file with the first lines of the generated code")
	flag.StringVar(&o.gates, "gates", "", "the Go file to write, with the gates")
	flag.StringVar(&o.dropping, "dropping", "", "the text file to write, with the gates that drop fields")
	flag.StringVar(&o.marked, "marked", "", "the text file to write, with the fields that have the marker of a gate")
	flag.Parse()
	if err := o.generate(); err != nil {
		fmt.Fprintln(os.Stderr, "featuregates:", err)
		os.Exit(1)
	}
}

// options are the folders to read and the files to write.
type options struct {
	kubernetes, controllerManager, clientGo, api, header string
	gates, dropping, marked                              string
}

func (o options) generate() error {
	header, err := os.ReadFile(o.header)
	if err != nil {
		return err
	}
	table := newTable()
	for _, file := range []string{
		filepath.Join(o.kubernetes, "pkg/features/kube_features.go"),
		filepath.Join(o.controllerManager, "pkg/features/kube_features.go"),
		filepath.Join(o.clientGo, "features/known_features.go"),
	} {
		if err := table.read(file); err != nil {
			return err
		}
	}
	code, err := format.Source(append(header, table.code()...))
	if err != nil {
		return err
	}
	dropping, err := dropping(o.kubernetes)
	if err != nil {
		return err
	}
	marked, err := marked(o.api)
	return errors.Join(err, os.WriteFile(o.gates, code, 0o644), write(o.dropping, dropping), write(o.marked, marked))
}

func write(file string, lines []string) error {
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// table has the declarations of gates.
type table struct {
	// values are the names of gates, by the identifiers of their constants.
	values map[string]string
	// specs has the properties of a gate by version, in Go. dependencies has the gates on which a gate depends.
	specs, dependencies map[string][]string
}

func newTable() *table {
	return &table{values: map[string]string{}, specs: map[string][]string{}, dependencies: map[string][]string{}}
}

// read adds the gates that a file declares.
func (t *table) read(file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && len(value.Values) == 1 {
				if err := t.declaration(general.Tok, value.Names[0].Name, value.Values[0]); err != nil {
					return fmt.Errorf("%s: %s: %w", file, value.Names[0].Name, err)
				}
			}
		}
	}
	return nil
}

// declaration reads a constant with the name of a gate, the map with the properties of gates, or the map with their
// dependencies.
func (t *table) declaration(tok token.Token, name string, value ast.Expr) error {
	if literal, ok := converted(value).(*ast.BasicLit); ok && tok == token.CONST && literal.Kind == token.STRING {
		text, err := strconv.Unquote(literal.Value)
		t.values[name] = text
		return err
	}
	var into map[string][]string
	var item func(ast.Expr) (string, error)
	switch name {
	case "defaultVersionedKubernetesFeatureGates", "versionedCloudPublicFeatureGates":
		into, item = t.specs, specOf
	case "defaultKubernetesFeatureGateDependencies":
		into, item = t.dependencies, t.gate
	default:
		return nil
	}
	for _, element := range value.(*ast.CompositeLit).Elts {
		entry := element.(*ast.KeyValueExpr)
		gate, err := t.gate(entry.Key)
		if err != nil {
			return err
		}
		into[gate] = nil // several modules may declare the gate
		for _, element := range entry.Value.(*ast.CompositeLit).Elts {
			text, err := item(element)
			if err != nil {
				return fmt.Errorf("%s: %w", gate, err)
			}
			into[gate] = append(into[gate], text)
		}
	}
	return nil
}

// converted returns x or, if x is a conversion such as featuregate.Feature(x), its operand.
func converted(x ast.Expr) ast.Expr {
	if conversion, ok := x.(*ast.CallExpr); ok && len(conversion.Args) == 1 {
		return conversion.Args[0]
	}
	return x
}

// gate returns the name of a gate. A gate of another package has the name of its constant.
func (t *table) gate(constant ast.Expr) (string, error) {
	switch constant := converted(constant).(type) {
	case *ast.SelectorExpr:
		return constant.Sel.Name, nil
	case *ast.Ident:
		if name, ok := t.values[constant.Name]; ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("%T is no constant with the name of a feature gate", constant)
}

// specOf returns Go code for the properties of a gate since a version.
func specOf(literal ast.Expr) (string, error) {
	var fields []string
	for _, element := range literal.(*ast.CompositeLit).Elts {
		field := element.(*ast.KeyValueExpr)
		name := field.Key.(*ast.Ident).Name
		var value string
		switch v := field.Value.(type) {
		case *ast.CallExpr: // a version, as version.MustParse("1.37")
			text, err := strconv.Unquote(v.Args[0].(*ast.BasicLit).Value)
			minor, ok := strings.CutPrefix(text, "1.")
			if err != nil || !ok {
				return "", fmt.Errorf("version %q: must be 1.MINOR", text)
			}
			value = "v(" + minor + ")"
		case *ast.SelectorExpr:
			value = "featuregate." + v.Sel.Name
		case *ast.Ident:
			if value = v.Name; name == "PreRelease" {
				value = "featuregate." + v.Name
			}
		default:
			return "", fmt.Errorf("field %s has a %T as its value: must be a version, a constant or a boolean", name, v)
		}
		if value != "false" {
			fields = append(fields, name+": "+value)
		}
	}
	return "{" + strings.Join(fields, ", ") + "}", nil
}

// code returns the Go code of the table.
func (t *table) code() []byte {
	var b bytes.Buffer
	b.WriteString(`// Code generated by hack/update-featuregates.sh. DO NOT EDIT.

package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// gates returns the feature gates of kube-apiserver, with their properties by version.
func gates() map[featuregate.Feature]featuregate.VersionedSpecs {
	v := func(minor uint) *version.Version { return version.MajorMinor(1, minor) }
	return map[featuregate.Feature]featuregate.VersionedSpecs{
`)
	for _, name := range slices.Sorted(maps.Keys(t.specs)) {
		fmt.Fprintf(&b, "%q: {%s},\n", name, strings.Join(t.specs[name], ", "))
	}
	b.WriteString(`}
}

// dependencies returns the feature gates that must be on while another feature gate is on.
func dependencies() map[featuregate.Feature][]featuregate.Feature {
	return map[featuregate.Feature][]featuregate.Feature{
`)
	for _, name := range slices.Sorted(maps.Keys(t.dependencies)) {
		if len(t.dependencies[name]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%q: {", name)
		for _, on := range t.dependencies[name] {
			fmt.Fprintf(&b, "%q, ", on)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n}\n")
	return b.Bytes()
}
