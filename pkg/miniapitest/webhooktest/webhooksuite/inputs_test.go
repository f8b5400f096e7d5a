package webhooksuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// inputs returns the reviews of testdata, which a server has sent.
func inputs(t *testing.T) []*webhooksuite.Input {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no reviews: %v", err)
	}
	var all []*webhooksuite.Input
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in, err := webhooksuite.NewInput(0, filepath.Base(file), body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	return all
}

// labels is a judge that checks only the labels of objects.
type labels struct{}

// Valid implements webhooksuite.Judge.
func (labels) Valid(_ context.Context, _ *webhooksuite.Input, object map[string]any) error {
	values, _ := at(object, "metadata", "labels").(map[string]any)
	for key, value := range values {
		text, is := value.(string)
		if !is || len(validation.IsValidLabelValue(text)) > 0 {
			body, err := json.Marshal(value)
			return errors.Join(err, errors.New("the label "+key+" is "+string(body)))
		}
	}
	return nil
}

func asSkipped(err error, to *webhooksuite.Skipped) bool { return errors.As(err, to) }
