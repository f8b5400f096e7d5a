package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// recordBytes is more than the length of any record of the write-ahead log. A record holds at most one request,
// which maxRequestBytes limits, and a few bytes more.
const recordBytes = 2 * maxRequestBytes

// logContent is the result of checkLog: the indices of raft entries in the write-ahead log.
type logContent struct {
	// snapshot is the index of the raft entry after which the log begins. last is the index of the log's last entry.
	snapshot, last uint64
	// commit is the index of the last entry that is committed according to the log, or 0 if there is none.
	commit uint64
}

// checkLog reads the write-ahead log. It accepts a last record that is incomplete because the process ended during
// the write: no client got an answer for that write.
func checkLog(cfg config.ServerConfig) (logContent, error) {
	segment, err := lastSegment(cfg.WALDir())
	if err != nil {
		return logContent{}, fmt.Errorf("write-ahead log: %w", err)
	}
	if segment == "" {
		return logContent{}, nil
	}
	if err := checkTail(segment); err != nil {
		return logContent{}, fmt.Errorf("write-ahead log %s: %w", segment, err)
	}
	content, err := readLog(cfg)
	if err != nil {
		return logContent{}, fmt.Errorf("write-ahead log %s: %w", cfg.WALDir(), err)
	}
	return content, nil
}

func readLog(cfg config.ServerConfig) (logContent, error) {
	snapshots, err := wal.ValidSnapshotEntries(cfg.Logger, cfg.WALDir())
	if err != nil {
		return logContent{}, err
	}
	last := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		last = snapshots[len(snapshots)-1]
	}
	log, err := wal.OpenForRead(cfg.Logger, cfg.WALDir(), last)
	if err != nil {
		return logContent{}, err
	}
	_, state, entries, err := log.ReadAll() // ReadAll also closes the log
	if err != nil {
		return logContent{}, err
	}
	content := logContent{snapshot: last.GetIndex(), last: last.GetIndex(), commit: state.GetCommit()}
	if len(entries) > 0 {
		content.last = entries[len(entries)-1].GetIndex()
	}
	return content, nil
}

// lastSegment returns the path of the last segment of the log, or "" if there is no log.
func lastSegment(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool { return filepath.Ext(f.Name()) != ".wal" })
	if len(files) == 0 {
		return "", nil
	}
	return filepath.Join(dir, files[len(files)-1].Name()), nil
}

// checkTail reads the last segment of the write-ahead log, and looks for an incomplete record.
//
// etcd allocates a segment with its full length, and writes records into it. If the file is shorter than that, and
// a record extends beyond its end, the file was cut off later: checkTail returns an error, because etcd would drop
// the record and all records after it. A record that is longer than any record of etcd is also an error.
//
// Any other incomplete record comes from a write that was interrupted by the end of the process or by a full disk.
// checkTail drops the record itself. If etcd did that, it would need room for a copy of the segment, and leave the
// segment short.
func checkTail(segment string) error {
	f, err := os.Open(segment)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	used, err := readRecords(f)
	switch {
	case err == nil && used == 0:
		return errors.New("damaged: the file doesn't begin with a record")
	case err == nil && size < segmentBytes: // a full disk makes etcd leave a short segment
		return os.Truncate(segment, segmentBytes)
	case err == nil:
		return nil
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case isCutOff(f, used, size):
		return fmt.Errorf("cut off or damaged: the record at byte %d goes beyond the end at byte %d", used, size)
	}
	if err := os.Truncate(segment, used); err != nil {
		return err
	}
	return os.Truncate(segment, max(size, segmentBytes))
}

// readRecords reads the records of a segment, and returns the offset at which they end.
func readRecords(f *os.File) (end int64, err error) {
	decoder, record := wal.NewDecoder(fileutil.NewFileReader(f)), &walpb.Record{}
	for {
		if err := decoder.Decode(record); errors.Is(err, io.EOF) {
			return decoder.LastOffset(), nil
		} else if err != nil {
			return decoder.LastOffset(), err
		}
		if record.GetType() == wal.CrcType {
			decoder.UpdateCRC(record.GetCrc())
		}
	}
}

// isCutOff reports whether the log was damaged at the incomplete record at the offset. It returns false if an
// interrupted write of etcd can have left the record. The log is damaged if the segment is short and the record extends
// beyond its end, or if the record is longer than any record of etcd.
func isCutOff(f *os.File, offset, size int64) bool {
	var frame [8]byte // the length of the record; the highest byte is the length of the padding
	if _, err := f.ReadAt(frame[:], offset); err != nil {
		return size < segmentBytes
	}
	length := int64(binary.LittleEndian.Uint64(frame[:]) &^ (0xff << 56))
	return length > recordBytes || size < segmentBytes && offset+int64(len(frame))+length > size
}
