package customresources

import (
	"bytes"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mostSpecs is the number of specs that are remembered. A few definitions are written at the same time.
const mostSpecs = 16

// specs are the specs that a server has stored last. A new definition is stored three times and decoded after each write: for
// the answer, for the informer and for the next write. The spec, which is most of the definition, is the same each time.
// The zero value remembers nothing.
type specs struct {
	// decode decodes a definition without the specs that are remembered.
	decode func(data []byte) (*apiextensions.CustomResourceDefinition, error)

	mu   sync.Mutex
	last []*storedSpec // the latest comes last
}

// storedSpec is a spec in its forms. All of them are for reading alone.
type storedSpec struct {
	data     []byte
	internal func() (*apiextensions.CustomResourceDefinitionSpec, error)
	v1       func() (*apiextensionsv1.CustomResourceDefinitionSpec, error)
}

// remember keeps the spec of a definition that is about to be stored.
func (s *specs) remember(data []byte) {
	_, spec, ok := withoutSpec(data)
	if !ok || s.decode == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.find(spec)
	if made == nil {
		made = s.make(bytes.Clone(spec))
	}
	s.last = append(slices.DeleteFunc(s.last, func(other *storedSpec) bool { return other == made }), made)
	if len(s.last) > mostSpecs {
		s.last = slices.Delete(s.last, 0, 1)
	}
}

// of returns a stored definition without its spec, and the remembered spec. It returns nil for a definition whose spec isn't
// remembered.
func (s *specs) of(data []byte) (rest []byte, stored *storedSpec) {
	s.mu.Lock()
	none := len(s.last) == 0
	s.mu.Unlock()
	if none {
		return nil, nil
	}
	rest, spec, ok := withoutSpec(data)
	if !ok {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return rest, s.find(spec)
}

func (s *specs) find(spec []byte) *storedSpec {
	for _, stored := range s.last {
		if bytes.Equal(stored.data, spec) {
			return stored
		}
	}
	return nil
}

func (s *specs) make(data []byte) *storedSpec {
	made := &storedSpec{data: data}
	made.internal = sync.OnceValues(func() (*apiextensions.CustomResourceDefinitionSpec, error) {
		crd, err := s.decode(slices.Concat([]byte(beforeSpec), data, []byte("}")))
		if err != nil {
			return nil, err
		}
		return &crd.Spec, nil
	})
	made.v1 = sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinitionSpec, error) {
		internal, err := made.internal()
		if err != nil {
			return nil, err
		}
		spec := &apiextensionsv1.CustomResourceDefinitionSpec{}
		return spec, apiextensionsv1.Convert_apiextensions_CustomResourceDefinitionSpec_To_v1_CustomResourceDefinitionSpec(internal, spec, nil)
	})
	return made
}

// decodeServed decodes a definition to v1, and shares its spec with earlier definitions. It returns nil for a definition
// whose spec isn't remembered. The function decodes what is left without the spec.
func (s *specs) decodeServed(data []byte, decode func([]byte) (runtime.Object, error)) (*apiextensionsv1.CustomResourceDefinition, error) {
	rest, stored := s.of(data)
	if stored == nil {
		return nil, nil
	}
	spec, err := stored.v1()
	if err != nil {
		return nil, err
	}
	obj, err := decode(rest)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if internal, ok := obj.(*apiextensions.CustomResourceDefinition); !ok || len(internal.Status.StoredVersions) == 0 {
		return nil, nil
	} else if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil); err != nil {
		return nil, err
	}
	crd.Spec = *spec
	return crd, nil
}

const (
	// beforeSpec is a definition up to its spec, in the version in which definitions are stored.
	beforeSpec = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","spec":`
	emptySpec  = "{}"
)

// withoutSpec separates a definition that the server has encoded from its spec. An empty spec is in the spec's place.
func withoutSpec(data []byte) (rest, spec []byte, ok bool) {
	from, depth := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := endOfString(data, i)
			if depth == 1 && from == 0 && bytes.HasPrefix(data[i:], []byte(`"spec":`)) {
				from = end + len(`":`)
			}
			i = end
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 1 && from > 0 {
				return slices.Concat(data[:from], []byte(emptySpec), data[i:]), data[from:i], true
			}
			if data[i] != ',' {
				depth--
			}
		}
	}
	return nil, nil, false
}

// endOfString returns the place of the quote that ends a JSON string, or the end of the data.
func endOfString(data []byte, begin int) int {
	for i := begin + 1; ; i++ {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			return len(data)
		}
		i += quote
		escapes := 0
		for data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
