package storage

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "member", "snap", "db")
	for _, reason := range []string{"etcd goes on with these pages", "an existing database stays as it is"} {
		if err := createDatabase(path); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if got := db.Info().PageSize; got != pageSize {
			t.Errorf("%s: want pages of %d bytes, got %d", reason, pageSize, got)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
