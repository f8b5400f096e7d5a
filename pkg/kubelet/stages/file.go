package stages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/answers"
)

// readFile reads a file with stages.
func readFile(ctx context.Context, path string) (*Set, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%q is neither a file nor one of %s", path, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	all, answered, err := decode(path, text)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && answered == nil {
		return nil, fmt.Errorf("%s: has no stage", path)
	}
	set := newSet(ctx, path, all)
	set.answers = answered
	return set, nil
}

// decode decodes and checks the objects of a file, which has YAML documents.
func decode(path string, text []byte) (all []*internalversion.Stage, answered *answers.Set, err error) {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer documents.Close()
	buffer := make([]byte, len(text)+1)
	for number := 1; ; number++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return all, answered, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		document, err := yaml.YAMLToJSONStrict(buffer[:n])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		var object metav1.PartialObjectMetadata
		if err := json.UnmarshalCaseSensitivePreserveInts(document, &object); err != nil {
			return nil, nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		switch {
		case object.Kind == "" && object.Name == "": // a document of comments
		case object.APIVersion == v1alpha1.GroupVersion.String() && answers.Has(object.Kind):
			if answered == nil {
				answered = &answers.Set{}
			}
			if err := answered.Add(object.Kind, document); err != nil {
				return nil, nil, fmt.Errorf("%s: %s %q: %w", path, object.Kind, object.Name, err)
			}
		default:
			stage, err := decodeStage(document)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: document %d: %w", path, number, err)
			}
			converted, err := convert(stage)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: stage %q: %w", path, stage.Name, err)
			}
			all = append(all, converted)
		}
	}
}

// decodeStage decodes a document in JSON, which has only the fields of a stage.
func decodeStage(document []byte) (*v1alpha1.Stage, error) {
	stage := &v1alpha1.Stage{}
	unknown, err := json.UnmarshalStrict(document, stage)
	return stage, errors.Join(append(unknown, err)...)
}

// convert converts and checks a stage.
func convert(stage *v1alpha1.Stage) (*internalversion.Stage, error) {
	converted, err := internalversion.ConvertToInternalStage(stage)
	if err != nil {
		return nil, err
	}
	return converted, check(stage, converted).ToAggregate()
}

// check returns the errors of a stage.
func check(written *v1alpha1.Stage, stage *internalversion.Stage) field.ErrorList {
	var errs field.ErrorList
	if written.APIVersion != v1alpha1.GroupVersion.String() {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), written.APIVersion, []string{v1alpha1.GroupVersion.String()}))
	}
	if written.Kind != v1alpha1.StageKind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), written.Kind, append(answers.Kinds(), v1alpha1.StageKind)))
	}
	if written.Name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), ""))
	}
	return append(errs, checkSpec(field.NewPath("spec"), &stage.Spec)...)
}
