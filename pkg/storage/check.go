package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// databaseTimeout is how long the check waits for another holder of the database file.
const databaseTimeout = time.Second

// checkFiles reads the files of a previous member and returns the index of the snapshot that its log
// continues, 0 if it begins with the first entry. etcd would open a damaged database on goroutines
// of its own, where a panic or fault ends the process. It must be guarded.
//
// A member whose first start was cut short is removed: it doesn't know of itself, so it would never be
// elected, and nothing has been stored.
func checkFiles(cfg config.ServerConfig) (snapshot uint64, err error) {
	snapshot, committed, err := checkLog(cfg)
	if err != nil {
		return 0, fmt.Errorf("write-ahead log %s: %w", cfg.WALDir(), err)
	}
	hasKeys, err := checkDatabase(cfg.BackendPath())
	if errors.Is(err, fs.ErrNotExist) && snapshot == 0 {
		err = nil // all of it is in the log, or nothing has been written yet
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("database: %w", err)
	case committed:
		return snapshot, nil
	case hasKeys:
		return 0, fmt.Errorf("write-ahead log %s: damaged: it has nothing of what the database has", cfg.WALDir())
	}
	if err := os.RemoveAll(cfg.MemberDir()); err != nil {
		return 0, fmt.Errorf("removing what a first start has left: %w", err)
	}
	return 0, nil
}

// checkDatabase reads all pages of the database, as etcd does to find the free ones, and says whether
// anything is stored in it.
func checkDatabase(path string) (hasKeys bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if info.Size() == 0 {
		return false, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} // as good as missing
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: databaseTimeout})
	if err != nil {
		return false, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
		err = errors.Join(err, db.Close())
	}()
	err = db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("truncated: %d of %d bytes", info.Size(), tx.Size())
		}
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error {
				hasKeys = hasKeys || bytes.Equal(name, schema.Key.Name())
				return nil
			})
		})
	})
	return hasKeys, err
}

// checkLog reads the log, and says whether anything in it was committed. A record that the end of the
// process cut short is no damage.
func checkLog(cfg config.ServerConfig) (snapshot uint64, committed bool, err error) {
	if !wal.Exist(cfg.WALDir()) {
		return 0, false, nil
	}
	snapshots, err := wal.ValidSnapshotEntries(cfg.Logger, cfg.WALDir())
	if err != nil {
		return 0, false, err
	}
	last := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		last = snapshots[len(snapshots)-1]
	}
	state, err := wal.Verify(cfg.Logger, cfg.WALDir(), last)
	return last.GetIndex(), state.GetCommit() > 0, err
}
