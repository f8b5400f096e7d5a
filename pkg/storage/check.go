package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/etcd/server/v3/config"
)

// checkFiles reads the files of a previous member and returns the index of the snapshot that its log
// continues, 0 if it begins with the first entry. etcd would open a damaged database on goroutines
// of its own, where a panic or fault ends the process. It must be guarded.
//
// A member whose first start was cut short is removed: it doesn't know of itself, so it would never be
// elected. A folder that has been used is refused if nothing is in it.
func checkFiles(cfg config.ServerConfig, unused bool) (snapshot uint64, err error) {
	log, err := checkLog(cfg)
	if err != nil {
		return 0, advised(err)
	}
	database, err := checkDatabase(cfg.BackendPath())
	if err != nil {
		return 0, advised(fmt.Errorf("database %s: %w", cfg.BackendPath(), err))
	}
	if err := database.checkOrigin(); err != nil {
		return 0, fmt.Errorf("database %s: %w", cfg.BackendPath(), err)
	}
	if log.commit > 0 || database.hasKeys {
		if err := compare(log, database); err != nil {
			return 0, advised(fmt.Errorf("write-ahead log %s and database %s: damaged: %w", cfg.WALDir(), cfg.BackendPath(), err))
		}
		return log.snapshot, nil
	}
	if !unused {
		return 0, advised(fmt.Errorf("%s: missing or empty: it held what was stored", cfg.MemberDir()))
	}
	if err := os.RemoveAll(cfg.MemberDir()); err != nil {
		return 0, fmt.Errorf("removing what a first start has left: %w", err)
	}
	return 0, nil
}

// compare finds fault with what one of them lacks of what the other one has, by the indices of raft's entries. etcd would
// wait for entries that never come, or go on without what is missing.
func compare(log logContent, database databaseContent) error {
	switch {
	case log.commit == 0:
		return errors.New("the log has nothing of what the database has")
	case !database.exists && log.snapshot > 0:
		return fmt.Errorf("the database is missing, and the log begins behind entry %d", log.snapshot)
	case log.last < log.commit:
		return fmt.Errorf("the log ends with entry %d, and says that entry %d was committed", log.last, log.commit)
	case log.last < database.index:
		return fmt.Errorf("the log ends with entry %d, and the database with entry %d", log.last, database.index)
	case database.index < log.snapshot:
		return fmt.Errorf("the database ends with entry %d, and the log begins behind entry %d", database.index, log.snapshot)
	}
	return nil
}

// advised adds what can be done about damaged files. An error of the system says that by itself.
func advised(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: bring the folder back from a copy, or begin with an empty one", err)
}
