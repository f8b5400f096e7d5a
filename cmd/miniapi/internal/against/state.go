package against

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// progress is how far a run has come. A state file has its JSON.
type progress struct {
	// Of is a hash of the options. A run with other options can't go on.
	Of string `json:"of"`
	// Done are the resources whose objects are reviewed, and Next is the token of the next page of the first other one.
	Done   []string `json:"done"`
	Next   string   `json:"next"`
	Report *Report  `json:"report"`
}

// resume returns the progress of an interrupted run from the state file, or that of a new run.
func resume(o Options) (progress, error) {
	hash, err := hashOf(o)
	if err != nil {
		return progress{}, err
	}
	begun := progress{Of: hash, Report: &Report{Judged: judgedOf(o.Objects)}}
	if o.State == "" {
		return begun, nil
	}
	content, err := os.ReadFile(o.State)
	if errors.Is(err, fs.ErrNotExist) {
		return begun, nil
	}
	if err != nil {
		return progress{}, err
	}
	var saved progress
	if err := json.Unmarshal(content, &saved); err != nil {
		return progress{}, fmt.Errorf("state %s: must be a file of an interrupted run: %w", o.State, err)
	}
	if saved.Of != hash {
		return progress{}, fmt.Errorf("state %s: is of a run with other policies, operations or objects: name another file, or remove it", o.State)
	}
	return saved, nil
}

// hashOf returns a hash of what a run judges, and by which objects.
func hashOf(o Options) (string, error) {
	contents := []any{o.Source, o.Operations}
	for _, object := range o.Objects {
		contents = append(contents, object.Object)
	}
	encoded, err := json.Marshal(contents)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// judgedOf returns the objects of which the report says what they do.
func judgedOf(objects []manifests.Object) []*Judged {
	var all []*Judged
	for _, object := range objects {
		if trace.PluginOf(object.GetKind()) != "" || manifests.IsDefinition(object.GroupVersionKind()) {
			all = append(all, &Judged{Name: object.GetKind() + "/" + object.GetName(), Source: object.Source})
		}
	}
	return all
}

// save writes the state file, if there is one.
func (p *progress) save(file string) error {
	if file == "" {
		return nil
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return files.Replace(file, encoded, 0o600)
}

// remove removes the state file of a run that is over.
func remove(file string) error {
	if file == "" {
		return nil
	}
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p *progress) note(format string, args ...any) {
	p.Report.Notes = append(p.Report.Notes, fmt.Sprintf(format, args...))
}
