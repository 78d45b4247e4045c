//go:build unix

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// certificate writes a certificate for this machine and its key into a folder.
func certificate(t *testing.T, dir string) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	text, err := x509.CreateCertificate(rand.Reader, made, made, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: text},
		key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(text)
	must(t, err)
	trusted.AddCert(parsed)
	return cert, key, trusted
}

// TestServeUsers: other machines are answered over TLS, and only users; a token is in the
// file as a digest; SIGTERM ends the program. What is wrong with files is reported before any is
// made.
func TestServeUsers(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	dir := t.TempDir()
	cert, key, trusted := certificate(t, dir)
	var out, errs bytes.Buffer
	cmd := keywrightWith(t, &out, "serve", "token", "alice")
	if cmd.Stderr = &errs; cmd.Run() != nil {
		t.Fatal(errs.String())
	}
	secret := regexp.MustCompile(`again: (\S+)`).FindStringSubmatch(errs.String())[1]
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, out.Bytes(), 0o600); err != nil || strings.Contains(out.String(), secret) {
		t.Fatal(err, out.String())
	}
	store := filepath.Join(dir, "history.db")
	flags := []string{"serve", "-u", s.URL(), "--store", store, "--listen", "0.0.0.0:0"}
	for _, bad := range [][]string{{}, {"--tokens", tokens}, {"--tokens", tokens, "--https-cert", cert},
		{"--tokens", key, "--proxy-has-tls"},
		{"--tokens", tokens, "--https-cert", key, "--https-key", cert}, {"--proxy-user-header", "X-User", "--proxy-has-tls"},
		{"--tokens", tokens, "--proxy-has-tls", "--audit-by", "snapshot", "--db", "-5"}} {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, append(flags, bad...)...)
		cmd.Dir = dir
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(said.String(), "hint: ") {
			t.Errorf("%v: %v, %s", bad, err, said.String())
		}
	}
	if _, err := os.Stat(store); err == nil {
		t.Error("a file was made by a start that was refused")
	}

	var said bytes.Buffer
	cmd = keywrightWith(t, &said, append(flags, "--tokens", tokens, "--https-cert", cert, "--https-key", key)...)
	cmd.Dir = dir
	url := urlOf(t, cmd, &said)
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/"))
	if err != nil {
		t.Fatal(url, err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	for _, ask := range []struct {
		path, token, host string
		code              int
	}{
		{"/healthz", "", "10.9.8.7:7380", 200}, {"/", "", "", 200}, {"/api/v1/me", "", "", 401}, {"/metrics", "", "", 401},
		{"/api/v1/me", secret, "", 200}, {"/metrics", secret, "", 200}, {"/api/v1/me", secret + "x", "", 401},
		{"/api/v1/me", secret, "evil.example", 421},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+ask.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = ask.host; ask.token != "" {
			r.Header.Set("Authorization", "Bearer "+ask.token)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != ask.code || answer.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%+v: %d %v", ask, answer.StatusCode, answer.Header)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 0 && cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v: %s", cmd.ProcessState, said.String())
	}
}
