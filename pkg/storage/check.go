package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/etcd/server/v3/config"
)

// checkFiles reads the files that a previous member left in the folder, before etcd opens them. unused is true if
// the member has never stored data in the folder. The result is the index of the raft snapshot after which the
// write-ahead log continues, or 0 if the log begins with the first entry.
//
// etcd itself would open a damaged database on goroutines of its own, where a panic or a memory fault ends the
// process. So call checkFiles through trap.guard, which turns a panic or a memory fault into an error.
//
// If the first start of a member was cut short, checkFiles removes the member's files. The files may lack the
// identity of the member, and a member without an identity would never be elected. A folder whose data has
// disappeared is refused with an error.
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
		return 0, advised(fmt.Errorf("%s: missing or empty, although etcd has stored data in this folder", cfg.MemberDir()))
	}
	if err := os.RemoveAll(cfg.MemberDir()); err != nil {
		return 0, fmt.Errorf("removing the files of an unfinished first start: %w", err)
	}
	return 0, nil
}

// compare returns an error if entries are missing between the write-ahead log and the database. Without this check,
// etcd would wait forever for a missing entry, or drop data without an error. Entries are compared by their raft
// index.
func compare(log logContent, database databaseContent) error {
	switch {
	case log.commit == 0:
		return errors.New("the log has no entries, and the database has some")
	case !database.exists && log.snapshot > 0:
		return fmt.Errorf("the database is missing, and the log begins after entry %d", log.snapshot)
	case log.last < log.commit:
		return fmt.Errorf("the log ends with entry %d, but entry %d was committed", log.last, log.commit)
	case log.last < database.index:
		return fmt.Errorf("the log ends with entry %d, and the database with entry %d", log.last, database.index)
	case database.index < log.snapshot:
		return fmt.Errorf("the database ends with entry %d, and the log begins after entry %d", database.index, log.snapshot)
	}
	return nil
}

// advised adds advice about damaged files to an error. It returns an error of the operating system, such as a full
// disk, and errLocked unchanged, because the files aren't damaged. The error of a missing file also gets the advice.
func advised(err error) error {
	if errors.Is(err, errLocked) {
		return err
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: restore the folder from a copy, or start with an empty folder", err)
}
