package storage

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// These are the files and folders of the data, below a member's folder.
var (
	memberFiles   = "member"
	logFiles      = filepath.Join(memberFiles, "wal")
	databaseFiles = filepath.Join(memberFiles, "snap")
	databaseFile  = filepath.Join(databaseFiles, "db")
)

// damage is a function that damages the files of a folder.
type damage func(t *testing.T, dir string)

// edited returns a damage that changes the content of a file.
func edited(file string, edit func([]byte) []byte) damage {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, string(edit(b)))
	}
}

// editedLog returns a damage that changes the last segment of the write-ahead log. edit gets the segment's content,
// and the length of the part that has records.
func editedLog(edit func(segment []byte, used int) []byte) damage {
	return func(t *testing.T, dir string) {
		t.Helper()
		segment, err := lastSegment(filepath.Join(dir, logFiles))
		if err != nil || segment == "" {
			t.Fatal("no log", err)
		}
		used := usedBytes(t, segment)
		file, err := filepath.Rel(dir, segment)
		if err != nil {
			t.Fatal(err)
		}
		edited(file, func(b []byte) []byte { return edit(b, used) })(t, dir)
	}
}

func usedBytes(t *testing.T, segment string) int {
	t.Helper()
	f, err := os.Open(segment)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used, err := readRecords(f)
	if err != nil {
		t.Fatal(err)
	}
	return int(used)
}

func removed(file string) damage {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}

// replaced returns a damage that replaces a folder by an empty file, or a file by a folder.
func replaced(file string, byFolder bool) damage {
	return func(t *testing.T, dir string) {
		t.Helper()
		removed(file)(t, dir)
		path := filepath.Join(dir, file)
		if byFolder {
			path = filepath.Join(path, "file")
		}
		writeFile(t, path, "")
	}
}

func overwritten(at, n int, with byte) func([]byte) []byte {
	return func(b []byte) []byte {
		copy(b[at:], bytes.Repeat([]byte{with}, n))
		return b
	}
}

// changedDatabase returns a damage that changes the database through bbolt, as etcd does.
func changedDatabase(change func(*bbolt.Tx) error) damage {
	return func(t *testing.T, dir string) {
		t.Helper()
		db, err := bbolt.Open(filepath.Join(dir, databaseFile), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// ofVersion returns a damage that changes the etcd version in the database. etcd checks the version before it uses
// the database's storage format.
func ofVersion(version string) damage {
	return changedDatabase(func(tx *bbolt.Tx) error {
		return tx.Bucket(schema.Meta.Name()).Put(schema.MetaStorageVersionName, []byte(version))
	})
}

// frame returns the bytes with which a record of the given length begins in the write-ahead log.
func frame(length int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(length)) }

func put8(bucket, key []byte, value uint64) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, binary.BigEndian.AppendUint64(nil, value)) }
}

// TestDamagedData starts a member with damaged files. If the damage may have lost an answered write, or if this etcd
// can't use the files, the start must fail with an error of one line. Otherwise the start must succeed.
func TestDamagedData(t *testing.T) {
	t.Parallel()
	intact := t.TempDir()
	m := startMember(t, Options{DataDir: intact})
	for i := range 500 {
		put(t, m, fmt.Sprint("/a/", i), strings.Repeat("x", 1000))
	}
	stopMember(t, m)

	for _, c := range []struct {
		name, reason string
		damage       damage
		want         string // part of the error; empty if the member must start
	}{
		{"database of another kind", "the first pages have the type of the file",
			edited(databaseFile, overwritten(0, 8192, 0xa5)), "invalid database"},
		{"database cut short", "reading beyond the end is a fault, not an error",
			edited(databaseFile, func(b []byte) []byte { return b[:20_000] }), "truncated"},
		{"database with broken pages", "etcd would read the broken pages on a goroutine of its own",
			edited(databaseFile, overwritten(8192, 100_000, 0xa5)), "damaged"},
		{"database of zeros", "the file has no pages",
			edited(databaseFile, func(b []byte) []byte { return make([]byte, len(b)) }), "invalid database"},
		{"database missing", "the log alone doesn't hold what was written before its snapshot", removed(databaseFile),
			"the database is missing"},
		{"database empty", "an empty file has nothing", edited(databaseFile, func([]byte) []byte { return nil }),
			"the database is missing"},
		{"folder of the database missing", "the database was in the folder", removed(databaseFiles), "the database is missing"},
		{"database is a folder", "a folder or file in the wrong place means that the database is lost",
			replaced(databaseFile, true), "db: must be a regular file"},
		{"folder of the database is a file", "a folder or file in the wrong place means that the database is lost",
			replaced(databaseFiles, false), "not a directory"},
		{"older database", "entries between the database and the log are missing",
			changedDatabase(put8(schema.Meta.Name(), schema.MetaConsistentIndexKeyName, 1)),
			"the database ends with entry 1, and the log begins after entry"},
		{"database of several", "one member of several is never elected", changedDatabase(func(tx *bbolt.Tx) error {
			members := tx.Bucket(schema.Members.Name())
			_, first := members.Cursor().First()
			return members.Put([]byte("0123456789abcdef"), bytes.Clone(first))
		}), "a cluster of 2 etcd servers"},
		{"database of a newer etcd", "an older etcd doesn't support the newer format", ofVersion("3.99.0"),
			"written by etcd 3.99.0, and the etcd of this miniapi is 3."},
		{"database of another etcd", "etcd 3 doesn't support the format of etcd 4", ofVersion("4.2.0"),
			"written by etcd 4.2.0, and the etcd of this miniapi is 3."},
		{"database of no etcd", "versions have numbers", ofVersion("new"), `the stored version of etcd is "new"`},
		{"database of an older etcd", "etcd converts the format", ofVersion("3.6.0"), ""},

		{"log with a broken record", "each record has a checksum",
			editedLog(func(b []byte, _ int) []byte { return overwritten(100_000, 50, 0xa5)(b) }), "crc mismatch"},
		{"log of zeros", "etcd takes zeros for the end",
			editedLog(func(b []byte, _ int) []byte { return make([]byte, len(b)) }),
			"the file doesn't begin with a record"},
		{"log empty", "etcd takes an empty file for the end", editedLog(func([]byte, int) []byte { return nil }),
			"the file doesn't begin with a record"},
		{"log of something else", "the file has no records",
			editedLog(func(b []byte, used int) []byte { return overwritten(0, used, 0xa5)(b) }), "goes beyond the end"},
		{"log with zeros at its end", "the log lacks records of the database",
			editedLog(func(b []byte, used int) []byte { return overwritten(used/2, used-used/2, 0)(b) }),
			"and the database with entry"},
		{"log cut off behind a record", "the log lacks records of the database",
			editedLog(func(b []byte, used int) []byte { return b[:endOfRecord(b, used/2)] }),
			"and the database with entry"},
		{"log cut off in the length of a record", "etcd would drop the record",
			editedLog(func(b []byte, used int) []byte { return b[:endOfRecord(b, used/2)+4] }), "goes beyond the end"},
		{"log cut off behind its records", "the part after the last record has no data",
			editedLog(func(b []byte, used int) []byte { return b[:used+100] }), ""},
		{"log with a record that has begun", "the write wasn't answered", editedLog(func(b []byte, used int) []byte {
			copy(b[used:], append(frame(2000), "begun"...))
			return b
		}), ""},
		{"log with a record that is too long", "etcd writes no record of that length", editedLog(func(b []byte, used int) []byte {
			copy(b[used:], append(frame(100<<20), "begun"...))
			return b
		}), "goes beyond the end"},
		{"log missing", "the last answered writes may be in the log alone", removed(logFiles),
			"the log has no entries, and the database has some"},
		{"folder of the log is a file", "a file in place of the folder has no log", replaced(logFiles, false), "not a directory"},

		{"all missing", "the folder was used", removed(memberFiles), "missing or empty, although etcd has stored data in this folder"},
		{"all a file", "a file can't be the folder of the member's files", replaced(memberFiles, false), "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir)
			if c.want != "" {
				startFails(t, dir, c.want, c.reason)
				return
			}
			for range 2 {
				m := startMember(t, Options{DataDir: dir})
				if value := get(t, m, "/a/499"); value == "" {
					t.Errorf("the last writes are missing: %s", c.reason)
				}
				put(t, m, "/a/499", "again")
				stopMember(t, m)
			}
		})
	}
}

// If another process has opened the database, the error of a start says so, and gives no advice about damaged files.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopMember(t, startMember(t, Options{DataDir: dir}))
	db, err := bbolt.Open(filepath.Join(dir, databaseFile), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	startFails(t, dir, "db: locked: end the process that has opened the file", "the database is locked")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	stopMember(t, startMember(t, Options{DataDir: dir}))
}

// endOfRecord returns the end of the record that contains an offset.
func endOfRecord(segment []byte, offset int) int {
	end := 0
	for end <= offset {
		length := binary.LittleEndian.Uint64(segment[end:])
		end += 8 + int(length&^(0xff<<56)) + int(length>>56&0x7)
	}
	return end
}

// TestLogCutOffAfterKill cuts off the log of a killed process. The last writes of a killed process are only in the
// write-ahead log, so the database doesn't show that the log has lost these writes.
func TestLogCutOffAfterKill(t *testing.T) {
	t.Parallel()
	killed := t.TempDir()
	written := killWriter(t, killed, 200)
	for range 5 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		editedLog(func(b []byte, used int) []byte {
			end := endOfRecord(b, used/2+rand.N(used/2-200))
			return b[:end-10]
		})(t, dir)
		startFails(t, dir, "goes beyond the end", "the writes were answered")
	}
	m := startMember(t, Options{DataDir: killed})
	found, err := m.client.KV.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	if int(found.Count) < len(written) {
		t.Errorf("%d of %d writes are there", found.Count, len(written))
	}
}

// If the first start of a member was cut short, the next start begins with empty files. Every other state of a
// folder is either used or refused.
func TestFirstStartCutShort(t *testing.T) {
	t.Parallel()
	const lost, nothing = "although etcd has stored data in this folder", "the log has no entries, and the database has some"
	for _, c := range []struct {
		name, reason      string
		used, stored, log bool
		want              string // part of the error; empty if the member must start
	}{
		{"empty log", "no write was answered", false, false, true, ""},
		{"nothing", "a new folder has nothing", false, false, false, ""},
		{"empty log, database with keys", "the keys may be a user's data", false, true, true, nothing},
		{"database with keys", "the log is missing", false, true, false, nothing},
		{"empty log of a folder that was used", "something was stored", true, false, true, lost},
		{"nothing of a folder that was used", "something was stored", true, false, false, lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			m := startMember(t, Options{DataDir: dir})
			put(t, m, "/a", "1")
			stopMember(t, m)
			cfg := serverConfig(m.folder, zap.NewNop())
			lost := cfg.MemberDir()
			if c.stored {
				lost = cfg.WALDir()
			}
			if err := os.RemoveAll(lost); err != nil {
				t.Fatal(err)
			}
			if c.log {
				// This is the state of the log early in the first start, before etcd adds the cluster's members.
				log, err := wal.Create(zap.NewNop(), cfg.WALDir(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !c.used {
				text, err := json.Marshal(holder{Layout: layout, Unused: true})
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(dir, lockName), string(text))
			}
			if c.want != "" {
				startFails(t, dir, c.want, c.reason)
				return
			}
			stopMember(t, startMember(t, Options{DataDir: dir}))
		})
	}
}

// Only errors about damaged files get advice. An error of the operating system names its cause itself.
func TestAdviceIsForDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		err          error
		advised      bool
	}{
		{"missing", "only a copy restores the file", &os.PathError{Op: "open", Path: "db", Err: os.ErrNotExist}, true},
		{"broken", "only a copy repairs the file", wal.ErrCRCMismatch, true},
		{"permission", "the owner of the file can grant it", &os.PathError{Op: "open", Path: "db", Err: syscall.EACCES}, false},
		{"locked", "the file is in use", fmt.Errorf("database db: %w", errLocked), false},
	} {
		if got := advised(c.err); strings.Contains(got.Error(), "from a copy") != c.advised {
			t.Errorf("%s: got %q, want advice %t: %s", c.name, got, c.advised, c.reason)
		}
	}
}
