package integration_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A Job with a time to live is deleted with its dependents when that time has passed since its end.
func TestJobIsDeletedAfterItsTimeToLive(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, withControllers("ttl-after-finished", "garbagecollector")).Client()
	jobs := client.BatchV1().Jobs("default")
	spec := simpleJob
	spec.TTLSecondsAfterFinished = new(int32(1))
	job := must(jobs.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "short"}, Spec: spec}, metav1.CreateOptions{}))(t)
	completeJob(t, client, job)
	gone(t, "the job", func(ctx context.Context) (*batchv1.Job, error) { return jobs.Get(ctx, "short", metav1.GetOptions{}) })
}
