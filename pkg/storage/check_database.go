package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/storage/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// databaseTimeout is how long the check waits for another holder of the database file.
const databaseTimeout = time.Second

// databaseContent is what a database has.
type databaseContent struct {
	exists bool
	// hasKeys says that something has been stored.
	hasKeys bool
	// index is that of the last of raft's entries that is in it, 0 if none is.
	index uint64
	// members are those of the etcd cluster.
	members int
	// version is that of the etcd whose form the database has, empty before 3.6.
	version string
}

// checkDatabase reads all pages of the database, as etcd does to find the free ones.
func checkDatabase(path string) (content databaseContent, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return content, nil
	}
	if err != nil {
		return content, err
	}
	if !info.Mode().IsRegular() {
		return content, errors.New("not a file")
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: databaseTimeout})
	if err != nil {
		return content, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
		err = errors.Join(err, db.Close())
	}()
	content.exists = true
	err = db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("truncated: %d of %d bytes", info.Size(), tx.Size())
		}
		return tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, value []byte) error {
				content.add(bucket, key, value)
				return nil
			})
		})
	})
	return content, err
}

// add takes note of what a bucket has.
func (c *databaseContent) add(bucket, key, value []byte) {
	switch {
	case bytes.Equal(bucket, schema.Key.Name()):
		c.hasKeys = true
	case bytes.Equal(bucket, schema.Members.Name()):
		c.members++
	case bytes.Equal(bucket, schema.Meta.Name()):
		switch {
		case bytes.Equal(key, schema.MetaConsistentIndexKeyName) && len(value) == 8:
			c.index = binary.BigEndian.Uint64(value)
		case bytes.Equal(key, schema.MetaStorageVersionName):
			c.version = string(value)
		}
	}
}

// checkOrigin finds fault with a database of a cluster, whose only member would never be elected, and with one of a newer
// etcd. An older one's is brought to the form of this one.
func (c *databaseContent) checkOrigin() error {
	if c.members > 1 {
		return fmt.Errorf("of a cluster of %d etcd servers, and this is one", c.members)
	}
	if c.version == "" {
		return nil
	}
	written, err := utilversion.ParseGeneric(c.version)
	if err != nil {
		return fmt.Errorf("of no version of etcd: %q", c.version)
	}
	if known := utilversion.MustParseGeneric(version.Version); written.Major() != known.Major() || written.Minor() > known.Minor() {
		return fmt.Errorf("of etcd %s, and this one is %s", written, known)
	}
	return nil
}
