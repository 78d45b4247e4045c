package keywrighttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/filelock"
)

// Address reserves an address of this machine, host:port, for a program that the test starts. It is the test's until
// the test ends, also while nothing listens there: no other test and no outgoing connection takes its port.
func Address(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
}

var nextPort atomic.Int64

// freePort returns a port that is the test's until it ends, with that of the cluster bus, port+1000: also while its
// server is killed. A node of another cluster in its place would make the rest of its cluster forget the address.
func freePort(t testing.TB) int {
	t.Helper()
	port, locks := takePort(t)
	t.Cleanup(func() { release(locks) })
	return port
}

// takePort tries ports below the range of ephemeral ones, so that no outgoing connection can take it in between. It and
// port+1000 are the caller's until the locks are released.
func takePort(t testing.TB) (int, []*os.File) {
	t.Helper()
	if nextPort.Load() == 0 {
		nextPort.CompareAndSwap(0, int64(20000+os.Getpid()*37%8000))
	}
	folder := portLocks(t)
	for range 5000 {
		port := 20000 + int(nextPort.Add(1))%9000
		if locks := reserve(folder, port, port+1000); locks != nil {
			return port, locks
		}
	}
	t.Fatal("there is no free port between 20000 and 30000")
	return 0, nil
}

// portLocks returns the folder of the locks of this user's tests.
func portLocks(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(os.TempDir(), "keywright-ports-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// reserve locks ports that are free, against the tests of all processes of this
// user, or returns nil. The kernel gives them back when the process ends.
func reserve(folder string, ports ...int) (locks []*os.File) {
	for _, port := range ports {
		f, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			locks = append(locks, f)
			err = filelock.Lock(f)
		}
		if err != nil || !bindable(port) {
			release(locks)
			return nil
		}
	}
	return locks
}

func release(locks []*os.File) {
	for _, f := range locks {
		_ = filelock.Close(f)
	}
}

func bindable(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Certificates holds the PEM files of a throw-away CA, a server for 127.0.0.1 and
// a client; OtherCA has signed none of them.
type Certificates struct {
	CA, ServerCert, ServerKey, ClientCert, ClientKey, OtherCA string
}

// NewCertificates makes them in a folder of the test.
func NewCertificates(t testing.TB) *Certificates {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	ca, caKey := issue(t, "ca", nil, nil, path("ca.pem"), "")
	issue(t, "other ca", nil, nil, path("other.pem"), "")
	issue(t, "server", ca, caKey, path("server.pem"), path("server.key"))
	issue(t, "client", ca, caKey, path("client.pem"), path("client.key"))
	return &Certificates{path("ca.pem"), path("server.pem"), path("server.key"), path("client.pem"), path("client.key"),
		path("other.pem")}
}

func issue(t testing.TB, name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey,
	certFile, keyFile string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
	if parent == nil {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	if keyFile != "" {
		raw, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	}
	return cert, key
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TLS makes the server speak TLS only and want a client certificate.
func TLS(c *Certificates) Option {
	return func(s *Server) {
		s.tls = c
		for name, value := range map[string]string{"tls-cert-file": c.ServerCert, "tls-key-file": c.ServerKey,
			"tls-ca-cert-file": c.CA, "tls-auth-clients": "yes"} {
			Config(name, value)(s)
		}
	}
}
