package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// ErrRefused is the error for a mutant that the server doesn't accept.
var ErrRefused = errors.New("the server doesn't accept the object")

// Notices runs cases with a mutant, an object that takes the place of the installed object of its kind and name, until one
// doesn't pass. It returns the result of this case, or nil if all pass. The mutant is gone when Notices returns.
func (s *Session) Notices(ctx context.Context, mutant manifests.Object, cases []*testfile.Planned) (noticed *Result, err error) {
	installed := s.snapshot
	s.mutated = true
	defer func() {
		s.mutated, s.snapshot = false, installed
		err = errors.Join(err, s.server.Restore(ctx, installed))
	}()
	applier := manifests.Applier{Config: s.server.setup}
	if err := applier.Apply(ctx, []manifests.Object{mutant}); err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, &testfile.Error{File: s.file.Path, Err: err}
	}
	if s.snapshot, err = s.server.Snapshot(ctx); err != nil {
		return nil, err
	}
	for _, planned := range cases {
		result, err := s.Run(ctx, planned)
		if err != nil || !result.Passed() {
			return result, err
		}
	}
	return nil, nil
}
