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

// Where a member keeps what is stored, below its folder.
var (
	memberFiles   = "member"
	logFiles      = filepath.Join(memberFiles, "wal")
	databaseFiles = filepath.Join(memberFiles, "snap")
	databaseFile  = filepath.Join(databaseFiles, "db")
)

// damage is done to a folder.
type damage func(t *testing.T, dir string)

// edited changes what is in a file.
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

// editedLog changes the segment that the log ends with. The edit is told how much of it is used.
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

// replaced puts an empty file in the place of a folder, or a folder in that of a file.
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

// changedDatabase changes the database as etcd does.
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

// ofVersion says which etcd's form the database has.
func ofVersion(version string) damage {
	return changedDatabase(func(tx *bbolt.Tx) error {
		return tx.Bucket(schema.Meta.Name()).Put(schema.MetaStorageVersionName, []byte(version))
	})
}

// frame begins a record of the log that has so many bytes.
func frame(length int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(length)) }

func put8(bucket, key []byte, value uint64) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, binary.BigEndian.AppendUint64(nil, value)) }
}

// A folder with damaged files is refused in one line, unless all that was answered is there.
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
		want         string // in the error; none: it starts
	}{
		{"database of another kind", "its first pages say what it is", edited(databaseFile, overwritten(0, 8192, 0xa5)), "invalid database"},
		{"database cut short", "reading beyond the end is a fault, not an error", edited(databaseFile, func(b []byte) []byte { return b[:20_000] }), "truncated"},
		{"database with broken pages", "etcd would meet them on a goroutine of its own", edited(databaseFile, overwritten(8192, 100_000, 0xa5)), "damaged"},
		{"database of zeros", "it has no pages", edited(databaseFile, func(b []byte) []byte { return make([]byte, len(b)) }), "invalid database"},
		{"database missing", "the log alone doesn't hold what was written before its snapshot", removed(databaseFile), "the database is missing"},
		{"database empty", "it is as good as missing", edited(databaseFile, func([]byte) []byte { return nil }), "the database is missing"},
		{"folder of the database missing", "the database is missing with it", removed(databaseFiles), "the database is missing"},
		{"database is a folder", "there is no database", replaced(databaseFile, true), "db: not a file"},
		{"folder of the database is a file", "there is no database", replaced(databaseFiles, false), "not a directory"},
		{"older database", "entries are missing between it and the log", changedDatabase(put8(schema.Meta.Name(), schema.MetaConsistentIndexKeyName, 1)), "the database ends with entry 1, and the log begins behind entry"},
		{"database of several", "it would wait for the others to be elected", changedDatabase(func(tx *bbolt.Tx) error {
			members := tx.Bucket(schema.Members.Name())
			_, first := members.Cursor().First()
			return members.Put([]byte("0123456789abcdef"), bytes.Clone(first))
		}), "a cluster of 2 etcd servers"},
		{"database of a newer etcd", "this one doesn't know what else is in it", ofVersion("3.99.0"), "of etcd 3.99.0, and this one is 3."},
		{"database of another etcd", "this one doesn't know what is in it", ofVersion("4.2.0"), "of etcd 4.2.0, and this one is 3."},
		{"database of no etcd", "versions have numbers", ofVersion("new"), `of no version of etcd: "new"`},
		{"database of an older etcd", "its form is brought to this one's", ofVersion("3.6.0"), ""},

		{"log with a broken record", "each record has a checksum", editedLog(func(b []byte, _ int) []byte { return overwritten(100_000, 50, 0xa5)(b) }), "crc mismatch"},
		{"log of zeros", "etcd takes zeros for the end", editedLog(func(b []byte, _ int) []byte { return make([]byte, len(b)) }), "it begins with no record"},
		{"log empty", "etcd takes it for the end", editedLog(func([]byte, int) []byte { return nil }), "it begins with no record"},
		{"log of something else", "it has no records", editedLog(func(b []byte, used int) []byte { return overwritten(0, used, 0xa5)(b) }), "goes beyond the end"},
		{"log with zeros at its end", "records are missing that the database has", editedLog(func(b []byte, used int) []byte { return overwritten(used/2, used-used/2, 0)(b) }), "and the database with entry"},
		{"log cut off behind a record", "records are missing that the database has", editedLog(func(b []byte, used int) []byte { return b[:endOfRecord(b, used/2)] }), "and the database with entry"},
		{"log cut off in the length of a record", "etcd would drop it", editedLog(func(b []byte, used int) []byte { return b[:endOfRecord(b, used/2)+4] }), "goes beyond the end"},
		{"log cut off behind its records", "nothing is missing", editedLog(func(b []byte, used int) []byte { return b[:used+100] }), ""},
		{"log with a record that has begun", "its write wasn't answered", editedLog(func(b []byte, used int) []byte {
			copy(b[used:], append(frame(2000), "begun"...))
			return b
		}), ""},
		{"log with a record that is too long", "nobody has written it", editedLog(func(b []byte, used int) []byte {
			copy(b[used:], append(frame(100<<20), "begun"...))
			return b
		}), "goes beyond the end"},
		{"log missing", "what was answered last may be in it alone", removed(logFiles), "the log has nothing of what the database has"},
		{"folder of the log is a file", "there is no log", replaced(logFiles, false), "not a directory"},

		{"all missing", "it was used", removed(memberFiles), "missing or empty: it held what was stored"},
		{"all a file", "there is nothing", replaced(memberFiles, false), "not a directory"},
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
					t.Errorf("what was written last is missing: %s", c.reason)
				}
				put(t, m, "/a/499", "again")
				stopMember(t, m)
			}
		})
	}
}

// endOfRecord is where the record ends that has an offset in it.
func endOfRecord(segment []byte, offset int) int {
	end := 0
	for end <= offset {
		length := binary.LittleEndian.Uint64(segment[end:])
		end += 8 + int(length&^(0xff<<56)) + int(length>>56&0x7)
	}
	return end
}

// The database of a member that was killed has not yet what was written last, and doesn't tell that the log lacks it.
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

// A member is founded anew if its first start was cut short, and nothing else is taken for that.
func TestFirstStartCutShort(t *testing.T) {
	t.Parallel()
	const lost, nothing = "held what was stored", "the log has nothing of what the database has"
	for _, c := range []struct {
		name, reason      string
		used, stored, log bool
		want              string // in the error; none: it starts
	}{
		{"empty log", "nobody has been told that anything is there", false, false, true, ""},
		{"nothing", "so it is with a new folder", false, false, false, ""},
		{"empty log, database with keys", "what is in it is somebody's", false, true, true, nothing},
		{"database with keys", "so it is without a log", false, true, false, nothing},
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
				// As etcd makes it, before it knows who its members are.
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

// The system says what to do about files that can't be read.
func TestAdviceIsForDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		err          error
		advised      bool
	}{
		{"missing", "nothing but a copy brings it back", &os.PathError{Op: "open", Path: "db", Err: os.ErrNotExist}, true},
		{"broken", "nothing but a copy repairs it", wal.ErrCRCMismatch, true},
		{"permission", "its owner can give it", &os.PathError{Op: "open", Path: "db", Err: syscall.EACCES}, false},
	} {
		if got := advised(c.err); strings.Contains(got.Error(), "from a copy") != c.advised {
			t.Errorf("%s: got %q, want advice %t: %s", c.name, got, c.advised, c.reason)
		}
	}
}
