// Package storagemigration is the controller storage-version-migrator-controller: it writes all objects of a resource
// again, so that etcd has them in the present storage version (KEP-4192). A StorageVersionMigration asks for it. When the
// resource is of a CustomResourceDefinition, its storedVersions has the storage version alone afterwards.
//
// [New] makes the controller.
package storagemigration

import (
	"cmp"
	"context"
	"slices"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	storagemigrationv1client "k8s.io/client-go/kubernetes/typed/storagemigration/v1"
	"k8s.io/client-go/metadata"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account. It is also the field manager of the patches that write
// objects again.
const Account = "storage-version-migrator-controller"

// Config has the dependencies of a controller.
type Config struct {
	Runner     *work.Runner
	Migrations storagemigrationv1client.StorageVersionMigrationsGetter
	// Dynamic patches the objects of all resources, and the status of CustomResourceDefinitions. Metadata lists objects.
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Resources *served.Resources
}

// Controller migrates stored objects. It must get the events of all StorageVersionMigrations.
type Controller struct {
	Config
	queue *work.Queue[struct{}]
}

var _ objects.Handler = &Controller{}

// New returns a controller.
func New(config Config) *Controller {
	c := &Controller{Config: config}
	c.queue = work.NewQueue(config.Runner, work.Options[struct{}]{Name: Account, Do: c.advance})
	return c
}

var kind = storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration").GroupKind()

// Stored implements objects.Handler.
func (c *Controller) Stored(o objects.Object) {
	if o.Kind.GroupKind() == kind {
		c.queue.Add(struct{}{})
	}
}

// Deleted implements objects.Handler. The deletion of a migration lets the next one of its resource begin.
func (c *Controller) Deleted(o objects.Object) { c.Stored(o) }

// Listed implements objects.Handler.
func (c *Controller) Listed(sets.Set[types.UID]) {}

// advance makes the next step of the migrations of each resource. The step changes the status of a migration, and the
// event of the change leads to the next step.
func (c *Controller) advance(ctx context.Context, _ struct{}) (time.Duration, error) {
	list, err := c.Migrations.StorageVersionMigrations().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // the resource isn't served
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	slices.SortFunc(list.Items, func(a, b storagemigrationv1.StorageVersionMigration) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	ofResource := map[metav1.GroupResource][]*storagemigrationv1.StorageVersionMigration{}
	for i := range list.Items {
		m := &list.Items[i]
		ofResource[m.Spec.Resource] = append(ofResource[m.Spec.Resource], m)
	}
	var errs []error
	for _, migrations := range ofResource {
		errs = append(errs, c.step(ctx, migrations))
	}
	return 0, utilerrors.NewAggregate(errs)
}

// step makes the next step of the migrations of one resource, the oldest first. One of them runs at a time.
func (c *Controller) step(ctx context.Context, migrations []*storagemigrationv1.StorageVersionMigration) error {
	var running, waiting *storagemigrationv1.StorageVersionMigration
	for _, m := range migrations {
		switch runs, ended := is(m, storagemigrationv1.MigrationRunning), is(m, storagemigrationv1.MigrationSucceeded) || is(m, storagemigrationv1.MigrationFailed); {
		case runs && ended:
			if err := c.finish(ctx, m); err != nil {
				return err
			}
		case runs:
			running = m
		case !ended && waiting == nil:
			waiting = m
		}
	}
	switch {
	case running != nil && running.Status.ResourceVersion == "":
		return c.checkpoint(ctx, running)
	case running != nil:
		return c.migrate(ctx, running)
	case waiting != nil:
		return c.begin(ctx, waiting)
	}
	return nil
}

func is(m *storagemigrationv1.StorageVersionMigration, condition storagemigrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
}
