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
	bbolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/storage/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// databaseTimeout bounds the time that checkDatabase waits until the database file is unlocked.
const databaseTimeout = time.Second

// errLocked is the error of checkDatabase for a database file that is locked: another process has opened the file, or a
// failed etcd of this process still has the file open.
var errLocked = errors.New("locked: end the process that has opened the file")

// databaseContent is the result of checkDatabase.
type databaseContent struct {
	exists bool
	// hasKeys is true if the database has a key of the API server.
	hasKeys bool
	// index is the index of the last raft entry in the database, or 0 if the database has no entry.
	index uint64
	// members is the number of members of the etcd cluster.
	members int
	// version is the version of etcd that wrote the database's storage format. Versions before 3.6
	// write none: version is then empty.
	version string
}

// checkDatabase reads all pages of the database, as etcd does when it opens the database. A damaged page then makes
// checkDatabase fail, and not etcd.
func checkDatabase(path string) (content databaseContent, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return content, nil
	}
	if err != nil {
		return content, err
	}
	if !info.Mode().IsRegular() {
		return content, errors.New("must be a regular file")
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: databaseTimeout})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return content, errLocked
	}
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
			return fmt.Errorf("truncated: the file has %d of %d bytes", info.Size(), tx.Size())
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

// add updates the content for a key of the database.
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

// checkOrigin refuses a database of a cluster with several members, because this member alone would never be
// elected. It also refuses a database of a newer etcd, or of another major version. etcd itself converts a database
// of an older minor version.
func (c *databaseContent) checkOrigin() error {
	if c.members > 1 {
		return fmt.Errorf("the database belongs to a cluster of %d etcd servers, and this server runs etcd alone: use another data folder", c.members)
	}
	if c.version == "" {
		return nil
	}
	written, err := utilversion.ParseGeneric(c.version)
	if err != nil {
		return fmt.Errorf("the stored version of etcd is %q, and must have the form MAJOR.MINOR.PATCH", c.version)
	}
	if known := utilversion.MustParseGeneric(version.Version); written.Major() != known.Major() || written.Minor() > known.Minor() {
		return fmt.Errorf("written by etcd %s, and the etcd of this miniapi is %s: use a miniapi with that version of etcd, or another data folder", written, known)
	}
	return nil
}
