package stages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
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
	all, err := decode(path, text)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: has no stage", path)
	}
	return newSet(ctx, path, all), nil
}

// decode decodes and checks the stages of a file, which has YAML documents.
func decode(path string, text []byte) ([]*internalversion.Stage, error) {
	var all []*internalversion.Stage
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer documents.Close()
	buffer := make([]byte, len(text)+1)
	for number := 1; ; number++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		stage, err := decodeStage(buffer[:n])
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		if stage.Kind == "" && stage.Name == "" {
			continue // a document of comments
		}
		converted, err := convert(stage)
		if err != nil {
			return nil, fmt.Errorf("%s: stage %q: %w", path, stage.Name, err)
		}
		all = append(all, converted)
	}
}

// decodeStage decodes a document, which has only the fields of a stage.
func decodeStage(document []byte) (*v1alpha1.Stage, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	stage := &v1alpha1.Stage{}
	unknown, err := json.UnmarshalStrict(text, stage)
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
		errs = append(errs, field.NotSupported(field.NewPath("kind"), written.Kind, []string{v1alpha1.StageKind}))
	}
	if written.Name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), ""))
	}
	return append(errs, checkSpec(field.NewPath("spec"), &stage.Spec)...)
}
