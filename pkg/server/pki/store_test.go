package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

var local = Names{DNS: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}

// kept has the keys of a server.
type kept struct {
	authority, frontProxy *Authority
	serving               KeyPair
	accounts              string // the public key of service account tokens
}

// open reads all keys from a store, or makes them, like the start of a server.
func open(t testing.TB, s *Store, names Names) kept {
	t.Helper()
	k, err := tryOpen(s, names)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func tryOpen(s *Store, names Names) (k kept, err error) {
	if k.authority, err = s.Authority("test"); err != nil {
		return k, err
	}
	if k.serving, err = s.Serving(k.authority, names); err != nil {
		return k, err
	}
	if k.frontProxy, err = s.FrontProxy("test-front-proxy"); err != nil {
		return k, err
	}
	key, err := s.ServiceAccountKey()
	if err != nil {
		return k, err
	}
	k.accounts = fmt.Sprint(key.Public())
	return k, nil
}

// leaf returns the certificate of a pair, and fails the test if the key doesn't match.
func leaf(t testing.TB, pair KeyPair) *x509.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Leaf
}

// verify verifies a certificate with an authority at a time.
func verify(c *x509.Certificate, ca []byte, at time.Time, name string, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestStoreKeepsEverything(t *testing.T) {
	t.Parallel()
	store := NewStore(filepath.Join(t.TempDir(), "made"))
	first, second := open(t, store, local), open(t, store, local)
	if !bytes.Equal(first.authority.CA(), second.authority.CA()) {
		t.Error("the authority is another one: no kubeconfig works any more")
	}
	if !bytes.Equal(first.frontProxy.CA(), second.frontProxy.CA()) {
		t.Error("the authority of front proxies is another one: extension API servers would trust both")
	}
	if diff := cmp.Diff(first.serving, second.serving); diff != "" {
		t.Errorf("the serving certificate is another one (-before +after):\n%s", diff)
	}
	if first.accounts != second.accounts {
		t.Error("the key of service accounts is another one: no token works any more")
	}
	modes := map[string]string{}
	files, err := os.ReadDir(store.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		modes[f.Name()] = info.Mode().String()
	}
	want := map[string]string{
		AuthorityKey: "-rw-------", FrontProxyKey: "-rw-------", ServingKey: "-rw-------", ServiceAccountsKey: "-rw-------",
		AuthorityCert: "-rw-r--r--", FrontProxyCert: "-rw-r--r--", ServingCert: "-rw-r--r--", ServiceAccountsPublicKey: "-rw-r--r--",
	}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestKeysAreMadeAnewWithoutAStore(t *testing.T) {
	t.Parallel()
	var store *Store
	authority, err := store.Authority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := store.Serving(authority, local)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(leaf(t, pair), authority.CA(), time.Now(), "localhost", x509.ExtKeyUsageServerAuth); err != nil {
		t.Error(err)
	}
	if key, err := store.ServiceAccountKey(); key != nil || err != nil {
		t.Errorf("got key %v, %v", key, err)
	}
}

// At a start, a certificate that expires soon is issued again. Until a client certificate expires, the authority's old
// and new certificates verify it.
func TestStoreRenews(t *testing.T) {
	t.Parallel()
	store := NewStore(t.TempDir())
	before := open(t, store, local)
	client, err := before.authority.Client("alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, reason string
		later        time.Duration
		renewed      bool
	}{
		{"soon", "a certificate that doesn't expire soon stays", validity - renewal - 24*time.Hour, false},
		{"late", "the certificate may expire while the server runs", validity - 24*time.Hour, true},
		{"too late", "a start may use a folder after its certificates have expired", validity + 24*time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(store.dir)); err != nil {
				t.Fatal(err)
			}
			now := time.Now().Add(c.later)
			after := open(t, &Store{dir: dir, now: func() time.Time { return now }}, local)
			if renewed := !bytes.Equal(after.authority.CA(), before.authority.CA()); renewed != c.renewed {
				t.Errorf("the authority's certificate is another one: %t, want %t: %s", renewed, c.renewed, c.reason)
			}
			if renewed := !bytes.Equal(after.serving.Cert, before.serving.Cert); renewed != c.renewed {
				t.Errorf("the serving certificate is another one: %t, want %t: %s", renewed, c.renewed, c.reason)
			}
			if !bytes.Equal(after.serving.Key, before.serving.Key) || after.accounts != before.accounts {
				t.Error("keys are others")
			}
			if err := verify(leaf(t, after.serving), after.authority.CA(), now, "localhost", x509.ExtKeyUsageServerAuth); err != nil {
				t.Error(err)
			}
			if c.later > validity {
				return
			}
			for name, ca := range map[string][]byte{"before": before.authority.CA(), "after": after.authority.CA()} {
				if err := verify(leaf(t, client), ca, now, "", x509.ExtKeyUsageClientAuth); err != nil {
					t.Errorf("a client's certificate by the authority's %s: %v", name, err)
				}
				if err := verify(leaf(t, after.serving), ca, now, "localhost", x509.ExtKeyUsageServerAuth); err != nil {
					t.Errorf("the serving certificate by the authority's %s: %v", name, err)
				}
			}
		})
	}
}

func TestServingCertificateFollowsNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		names        Names
		renewed      bool
	}{
		{"same", "the certificate already has all names", local, false},
		{"fewer", "another server of the folder may need the other names", Names{DNS: local.DNS}, false},
		{"name", "clients reach the server by the new name", Names{DNS: []string{"localhost", "here"}, IPs: local.IPs}, true},
		{"address", "clients reach the server by the new address", Names{DNS: local.DNS, IPs: []net.IP{net.IPv4(192, 0, 2, 1)}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := NewStore(t.TempDir())
			before, after := open(t, store, local), open(t, store, c.names)
			if renewed := !bytes.Equal(before.serving.Cert, after.serving.Cert); renewed != c.renewed {
				t.Errorf("the serving certificate is another one: %t, want %t: %s", renewed, c.renewed, c.reason)
			}
			if !bytes.Equal(before.serving.Key, after.serving.Key) {
				t.Error("the key is another one")
			}
			got := leaf(t, after.serving)
			for _, names := range []Names{local, c.names} {
				for _, name := range names.DNS {
					if err := verify(got, before.authority.CA(), time.Now(), name, x509.ExtKeyUsageServerAuth); err != nil {
						t.Error(err)
					}
				}
				for _, ip := range names.IPs {
					if err := verify(got, before.authority.CA(), time.Now(), ip.String(), x509.ExtKeyUsageServerAuth); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// If a file of a store is missing or invalid, a start repairs the store, or returns an error of one line with the path
// of the store.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	other, intact := NewStore(t.TempDir()), NewStore(t.TempDir())
	open(t, other, local)
	before := open(t, intact, local)
	written := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	replaced := func(t *testing.T, path string) {
		t.Helper()
		content, err := os.ReadFile(other.Path(filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		written(string(content))(t, path)
	}
	removed := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(t *testing.T, path string) {
		t.Helper()
		removed(t, path)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const ed25519 = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct {
		name, reason, file string
		damage             func(*testing.T, string)
		want               string // parts of the error, or empty if open repairs the store
	}{
		{"authority's key of something else", "nothing can be issued", AuthorityKey, written("hello\n"), "damaged"},
		{"authority's key empty", "nothing can be issued", AuthorityKey, written(""), "damaged"},
		{"authority's key of another", "the certificate doesn't verify certificates that another key has signed",
			AuthorityKey, replaced, "ca.crt: must be a certificate for the key in ca.key"},
		{"authority's key of another, advice", "an authority of the new key doesn't verify earlier certificates", AuthorityKey, replaced, "bring ca.crt and ca.key back from the same copy, or remove ca.crt; then a new certificate is issued for the key; " +
			"if ca.key has been replaced, kubeconfigs and certificates that were issued until now become invalid"},
		{"authority's key missing", "a new key would make existing kubeconfigs invalid without a warning", AuthorityKey,
			removed, "ca.key is missing, and ca.crt exists"},
		{"authority's key a folder", "a folder can't be read as a key", AuthorityKey, folder, "is a directory"},
		{"authority's certificate is text", "clients can't verify anything with the file", AuthorityCert, written("hello\n"), "damaged"},
		{"authority's certificate of another key", "clients can't verify the server's certificates with the file",
			AuthorityCert, replaced, "ca.crt: must be a certificate for the key in ca.key"},
		{"authority's certificate missing", "the authority's certificate is issued again for the same key", AuthorityCert, removed, ""},
		{"serving key of another", "the certificate has another key", ServingKey, replaced,
			"apiserver.crt: must be a certificate for the key in apiserver.key"},
		{"serving key of another, advice", "clients verify certificates of all keys by the authority", ServingKey,
			replaced, "or remove apiserver.crt; then a new certificate is issued for the key"},
		{"serving key missing", "a user may have put the certificate there", ServingKey, removed,
			"apiserver.key is missing, and apiserver.crt exists"},
		{"serving key of a kind that isn't known", "the server can use only RSA and ECDSA keys", ServingKey,
			written(ed25519), "must be an ECDSA or RSA key"},
		{"serving certificate cut short", "no client can verify the server", ServingCert,
			written("-----BEGIN CERTIFICATE-----\nMIIB"), "damaged"},
		{"serving certificate missing", "the serving certificate is issued again for the same key", ServingCert, removed, ""},
		{"key of service accounts missing", "a new key would make every token invalid without a warning",
			ServiceAccountsKey, removed, "sa.key is missing, and sa.pub exists"},
		{"key of service accounts of another", "the former key has signed the existing tokens", ServiceAccountsKey,
			replaced, "sa.pub: must be the public key of sa.key"},
		{"public key of service accounts missing", "the public key is written again from the private key",
			ServiceAccountsPublicKey, removed, ""},
		{"key of service accounts of something else", "nothing can be signed", ServiceAccountsKey, written("hello\n"),
			"the tokens of service accounts become invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := NewStore(t.TempDir())
			if err := os.CopyFS(store.dir, os.DirFS(intact.dir)); err != nil {
				t.Fatal(err)
			}
			c.damage(t, store.Path(c.file))
			after, err := tryOpen(store, local)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), store.dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("want one line with %q and the folder, got %v: %s", c.want, err, c.reason)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, c.reason)
			}
			if err := verify(leaf(t, after.serving), before.authority.CA(), time.Now(), "localhost", x509.ExtKeyUsageServerAuth); err != nil {
				t.Errorf("a client that trusts the former authority: %v", err)
			}
		})
	}
}

// A serving certificate that a user has put into the folder stays unchanged. A serving certificate from an earlier
// authority of the store is replaced.
func TestServingCertificateOfAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason, authority string
		stays                   bool
	}{
		{"of a user", "a user has put the certificate there", "their authority", true},
		{"former", "clients that trust the new authority couldn't verify the certificate", "test", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, former := NewStore(t.TempDir()), NewStore(t.TempDir())
			authority, err := former.Authority(c.authority)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := former.Serving(authority, Names{DNS: []string{"theirs"}})
			if err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string][]byte{ServingCert: theirs.Cert, ServingKey: theirs.Key} {
				if err := files.Replace(store.Path(file), content, keyMode); err != nil {
					t.Fatal(err)
				}
			}
			got := open(t, store, local)
			if stays := bytes.Equal(got.serving.Cert, theirs.Cert); stays != c.stays {
				t.Errorf("stays: %t, want %t: %s", stays, c.stays, c.reason)
			}
			if !bytes.Equal(got.serving.Key, theirs.Key) {
				t.Error("the key is another one")
			}
		})
	}
}

// Servers that share a folder and start at the same time get the same keys.
func TestServersShareStore(t *testing.T) {
	t.Parallel()
	const servers = 8
	dir := t.TempDir()
	opened := make([]kept, servers)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			names := Names{DNS: []string{"localhost", fmt.Sprint("server-", i)}}
			var err error
			if opened[i], err = tryOpen(NewStore(dir), names); err != nil {
				t.Errorf("server %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, k := range opened {
		if !bytes.Equal(k.authority.CA(), opened[0].authority.CA()) || !bytes.Equal(k.serving.Key, opened[0].serving.Key) || k.accounts != opened[0].accounts {
			t.Errorf("servers 0 and %d have different keys", i)
		}
		if err := verify(leaf(t, k.serving), opened[0].authority.CA(), time.Now(), "localhost", x509.ExtKeyUsageServerAuth); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
