package storage

import (
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// pageSize is the size of the pages of a temporary member's database, which takes memory. bbolt puts at least two values into
// a page, and on average leaves half of a value's length unused. With pages of the system's size, 4 kB, the 1.4 to 3 kB of a
// pod take 1.45 times as much.
const pageSize = 16 << 10

// createDatabase creates an empty database with pages of the pageSize, which etcd then uses.
func createDatabase(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		return err
	}
	return db.Close()
}
