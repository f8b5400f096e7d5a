package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// databaseTimeout is how long the check waits for another holder of the database file.
const databaseTimeout = time.Second

// checkFiles reads the files of a previous member and returns the index of the snapshot that its log
// continues, 0 if it begins with the first entry. etcd would open a damaged database on goroutines
// of its own, where a panic or fault ends the process. It must be guarded.
func checkFiles(cfg config.ServerConfig) (snapshot uint64, err error) {
	snapshot, err = checkLog(cfg)
	if err != nil {
		return 0, fmt.Errorf("write-ahead log %s: %w", cfg.WALDir(), err)
	}
	err = checkDatabase(cfg.BackendPath())
	if errors.Is(err, fs.ErrNotExist) && snapshot == 0 {
		err = nil // all of it is in the log, or nothing has been written yet
	}
	if err != nil {
		return 0, fmt.Errorf("database: %w", err)
	}
	return snapshot, nil
}

// checkDatabase reads all pages of the database, as etcd does to find the free ones.
func checkDatabase(path string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} // as good as missing
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: databaseTimeout})
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
		err = errors.Join(err, db.Close())
	}()
	return db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("truncated: %d of %d bytes", info.Size(), tx.Size())
		}
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}

// checkLog reads the log. A record that the end of the process cut short is no damage.
func checkLog(cfg config.ServerConfig) (snapshot uint64, err error) {
	if !wal.Exist(cfg.WALDir()) {
		return 0, nil
	}
	snapshots, err := wal.ValidSnapshotEntries(cfg.Logger, cfg.WALDir())
	if err != nil {
		return 0, err
	}
	last := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		last = snapshots[len(snapshots)-1]
	}
	_, err = wal.Verify(cfg.Logger, cfg.WALDir(), last)
	return last.GetIndex(), err
}
