package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// served is a tickgate that serves.
type served struct {
	address string // of the data port
	client  *http.Client
	stop    context.CancelFunc
	hangup  chan struct{} // gets what SIGHUP is
	status  chan int

	mu    sync.Mutex
	log   bytes.Buffer
	ports map[string]string // addresses by name: "", checks, Envoy, operators
	ready chan struct{}     // closed when the first of them serves
}

var serving = regexp.MustCompile(`msg="?serving ?([^"= ]*)"? address="?([^" ]+)|"msg":"serving ?([^"]*)","address":"([^"]+)"`)

// Write is the log.
func (s *served) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range serving.FindAllSubmatch(b, -1) { // of a process several lines may come at once
		s.ports[string(at[1])+string(at[3])] = string(at[2]) + string(at[4])
		select {
		case <-s.ready:
		default:
			close(s.ready)
		}
	}
	return s.log.Write(b)
}

// port returns the address of a port, which may be about to serve.
func (s *served) port(t *testing.T, name string) (address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		address = s.ports[name]
		return address != ""
	}, 10*time.Second, 5*time.Millisecond, "port %q", name)
	return address
}

func (s *served) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// serve runs a command line on free ports until it serves.
func serve(t *testing.T, environment map[string]string, args ...string) *served {
	t.Helper()
	own := []string{"serve", "--listen", "127.0.0.1:0"}
	if slices.Contains(args, "--listen") {
		own = own[:1]
	}
	if !slices.Contains(args, "--admin") {
		own = append(own, "--admin", "127.0.0.1:0")
	}
	s := &served{
		client: &http.Client{Transport: &http.Transport{}}, status: make(chan int, 1),
		hangup: make(chan struct{}, 1), ports: map[string]string{}, ready: make(chan struct{}),
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		s.status <- run(ctx, append(own, args...), &world{
			stdout: io.Discard, stderr: s, now: time.Now, sleep: sleep,
			lookup:  func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
			hangups: func() (<-chan struct{}, func()) { return s.hangup, func() {} },
		})
		close(ended)
	}()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.stop()
		<-ended
	})
	select {
	case <-s.ready:
		if !slices.Contains(args, "off") {
			s.address = s.port(t, "")
		}
	case <-ended:
		t.Fatal(s.String())
	}
	return s
}

// answer is one that has been read.
type answer struct {
	*http.Response
	text string
}

// send makes a request; header are names and values.
func (s *served) send(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.address+path, strings.NewReader(body))
	require.NoError(t, err)
	return s.do(t, r, header...)
}

func (s *served) do(t *testing.T, r *http.Request, header ...string) answer {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := s.client.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res, string(text)}
}

// begin makes a request whose answer nobody looks at.
func (s *served) begin() {
	go func() {
		r, _ := http.NewRequest("GET", "http://"+s.address, nil)
		r.Header.Set("X-API-Key", "k")
		if res, err := s.client.Do(r); err == nil {
			_ = res.Body.Close()
		}
	}()
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	var der []byte
	der, a.key = signed(t, name, nil, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	var err error
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.file = write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return a
}

// issue writes a certificate for 127.0.0.1, and its key, to files.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	return a.issueAt(t, name, time.Now())
}

// issueAt writes one that is valid for an hour before and after a time.
func (a *authority) issueAt(t *testing.T, name string, at time.Time) (cert, key string) {
	t.Helper()
	der, private := signed(t, name, a, &x509.Certificate{
		NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// trust returns a client's configuration, with a certificate if one is named.
func (a *authority) trust(t *testing.T, cert, key string) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AddCert(a.cert)
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		require.NoError(t, err)
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

func signed(t *testing.T, name string, by *authority, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	return der, key
}
