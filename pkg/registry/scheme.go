package registry

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// Scheme knows every version of every row, with the hub's types as "__internal".
// It is built once a process, at its first use, and must not be changed.
func Scheme() *runtime.Scheme { return scheme() }

// Codecs are the serializers of Scheme: JSON, YAML, protobuf and, if the process has
// turned on the feature gate CBORServingAndStorage by then, CBOR.
func Codecs() serializer.CodecFactory { return codecs() }

// ParameterCodec decodes query parameters into options, those of connect
// subresources included.
func ParameterCodec() runtime.ParameterCodec { return parameters() }

var (
	scheme = sync.OnceValue(func() *runtime.Scheme {
		s := runtime.NewScheme()
		utilruntime.Must(addToScheme(s, Table()))
		return s
	})
	// Built apart: flags are checked with the scheme, and the feature gates may be among those that follow.
	codecs = sync.OnceValue(func() serializer.CodecFactory {
		return serializer.NewCodecFactory(scheme(), codecOptions()...)
	})
	parameters = sync.OnceValue(func() runtime.ParameterCodec { return runtime.NewParameterCodec(scheme()) })
)

// codecOptions are those that k8s.io/apiserver gives its own groups: long lists are
// encoded item by item.
func codecOptions() []serializer.CodecFactoryOptionsMutator {
	options := []serializer.CodecFactoryOptionsMutator{
		serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		options = append(options, serializer.WithSerializer(cbor.NewSerializerInfo))
	}
	return options
}

func addToScheme(s *runtime.Scheme, groups []Group) error {
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	for i := range groups {
		if err := groups[i].addVersions(s); err != nil {
			return fmt.Errorf("registering the types of %q: %w", groups[i].Name, err)
		}
	}
	for i := range groups {
		if err := groups[i].addHub(s, groups); err != nil {
			return fmt.Errorf("registering the hub of %q: %w", groups[i].Name, err)
		}
	}
	if err := addConnectOptions(s); err != nil {
		return fmt.Errorf("registering connect options: %w", err)
	}
	defaults.AddToScheme(s)
	return conversion.Register(s)
}

func (g *Group) addVersions(s *runtime.Scheme) error {
	var priority []schema.GroupVersion
	for _, v := range g.Versions {
		if err := v.AddToScheme(s); err != nil {
			return err
		}
		priority = append(priority, schema.GroupVersion{Group: g.Name, Version: v.Name})
	}
	return s.SetVersionPriority(priority...)
}

// addHub registers the hub's types as "__internal", and what the rows say of them.
func (g *Group) addHub(s *runtime.Scheme, table []Group) error {
	internal := schema.GroupVersion{Group: g.Name, Version: runtime.APIVersionInternal}
	kinds := g.rows(table)
	for _, k := range kinds {
		s.AddKnownTypes(internal, k.Object)
		if k.List != nil {
			s.AddKnownTypes(internal, k.List)
		}
	}
	s.AddKnownTypes(internal, g.Types...)
	if len(g.Kinds) > 0 {
		preferred := schema.GroupVersion{Group: g.Name, Version: g.Versions[0].Name}
		for name, t := range s.KnownTypes(preferred) {
			if s.Recognizes(internal.WithKind(name)) || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
				continue
			}
			s.AddKnownTypeWithName(internal.WithKind(name), reflect.New(t).Interface().(runtime.Object))
		}
	}
	for _, k := range kinds {
		for _, v := range g.Versions {
			gvk := schema.GroupVersionKind{Group: g.Name, Version: v.Name, Kind: k.kindName()}
			convert := k.fieldLabelConversion(gvk)
			if convert == nil || !s.Recognizes(gvk) {
				continue
			}
			if err := s.AddFieldLabelConversionFunc(gvk, convert); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows are the group's own kinds and the borrowed ones.
func (g *Group) rows(table []Group) []*Kind {
	var kinds []*Kind
	for i := range g.Kinds {
		kinds = append(kinds, &g.Kinds[i])
	}
	for _, b := range g.Borrowed {
		for i := range table {
			if table[i].Name != b.Group {
				continue
			}
			for j := range table[i].Kinds {
				if table[i].Kinds[j].Resource == b.Resource {
					kinds = append(kinds, &table[i].Kinds[j])
				}
			}
		}
	}
	return kinds
}
