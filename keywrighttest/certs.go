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
	"testing"
	"time"
)

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
