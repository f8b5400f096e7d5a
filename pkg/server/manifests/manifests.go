// Package manifests reads Kubernetes manifests and applies them to a server, in the
// order in which they are given. It is for a server's own start; a cluster's
// configuration is kubectl's business.
package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager owns what is applied.
const fieldManager = "miniapi"

// establishTimeout bounds how long a custom resource may take to be served.
const establishTimeout = 30 * time.Second

// Object is one object of a manifest, and where it was read.
type Object struct {
	*unstructured.Unstructured
	// Source is the file, and the number of the document in it, from 1.
	Source string
}

// Load reads files, and the .yaml, .yml and .json files of folders in the order of
// their names. An error names the file and the document.
func Load(paths ...string) ([]Object, error) {
	var objects []Object
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			read, err := Decode(file, data)
			if err != nil {
				return nil, err
			}
			objects = append(objects, read...)
		}
	}
	return objects, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file in this folder", path)
	}
	return files, err
}

// Decode reads the documents of one file, lists item by item. Source is what errors
// call the file.
func Decode(source string, data []byte) ([]Object, error) {
	var objects []Object
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for document := 1; ; document++ {
		u := &unstructured.Unstructured{}
		where := fmt.Sprintf("%s, document %d", source, document)
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if len(u.Object) == 0 {
			continue
		}
		if u.GetAPIVersion() == "" || u.GetKind() == "" {
			return nil, fmt.Errorf("%s: apiVersion and kind must be set, for example apiVersion: v1 and kind: ConfigMap", where)
		}
		if !u.IsList() {
			objects = append(objects, Object{u, where})
			continue
		}
		if err := u.EachListItem(func(item runtime.Object) error {
			objects = append(objects, Object{item.(*unstructured.Unstructured), where})
			return nil
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
}

// Apply applies objects one after the other, each in effect before the next: custom
// resources can follow their definitions. Objects without a namespace go to default.
func Apply(ctx context.Context, config *rest.Config, objects []Object) error {
	if len(objects) == 0 {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	a := applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))}
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func (a applier) apply(ctx context.Context, object Object) error {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		resource = a.client.Resource(mapping.Resource).Namespace(namespace)
	}
	applied, err := resource.Apply(ctx, object.GetName(), object.Unstructured, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return err
	}
	if gvk.Group == apiextensionsv1.GroupName && gvk.Kind == "CustomResourceDefinition" {
		return a.awaitEstablished(ctx, applied.GetName())
	}
	return nil
}

// awaitEstablished waits until the resources of a definition are served.
func (a applier) awaitEstablished(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	definitions := a.client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		u, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
			return false, err
		}
		return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established), nil
	})
	if err != nil {
		return fmt.Errorf("isn't established: %w (the last conditions: %+v)", err, crd.Status.Conditions)
	}
	a.mapper.Reset()
	return nil
}
