package redisync

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// secondLook bounds the attempt to find out what a server speaks instead.
const secondLook = time.Second

// explainDial says in one line why there is no connection, and what to do.
func (a *address) explainDial(ctx context.Context, d *dialer, addr string, err error) error {
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("redis at %s: there is no such host: correct the URL's host, or the name service (%w)", addr, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("redis at %s: nobody listens there: start Redis, or correct the host and the port of the URL (%w)", addr, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("redis at %s: there is no such socket: start Redis, or correct the path of the URL (%w)", addr, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("redis at %s: this process may not open the socket: see its owner and mode (%w)", addr, err)
	case errors.As(err, &authority):
		return fmt.Errorf("redis at %s has a certificate of an unknown authority: name the authority's file in the URL, ?ca=FILE (%w)", addr, err)
	case errors.As(err, &name):
		return fmt.Errorf("redis at %s has a certificate for another name: write that name in the URL, ?server_name=NAME (%w)", addr, err)
	case errors.As(err, &invalid):
		return fmt.Errorf("redis at %s has a certificate that is not valid: renew it, or set the clock (%w)", addr, err)
	case wantsCertificate(err):
		return fmt.Errorf("redis at %s wants a client's certificate: name one in the URL, ?cert=FILE&key=FILE (%w)", addr, err)
	}
	var shaking *handshakeError
	if errors.As(err, &shaking) {
		if a.speaksPlain(d, addr) {
			return fmt.Errorf("redis at %s does not speak TLS: begin the URL with redis:// and not rediss://", addr)
		}
		return fmt.Errorf("redis at %s: the TLS handshake failed: see whether the port is Redis's TLS port (%w)", addr, err)
	}
	if ctx.Err() != nil || isTimeout(err) {
		return fmt.Errorf("redis at %s: no connection in time: see the address, the network and any firewall (%w)", addr, err)
	}
	return fmt.Errorf("redis at %s: no connection: %w", addr, err)
}

// explain says in one line what is wrong with an answer, and what to do.
func (a *address) explain(ctx context.Context, d *dialer, addr, user string, password bool, err error) error {
	if s, ok := err.(said); ok {
		if a.masterSet != "" && strings.HasPrefix(string(s), "NOAUTH") {
			return fmt.Errorf("the sentinel at %s wants a password: write it in the URL, sentinel_password=PASSWORD; if it is no sentinel, leave out master_set", addr)
		}
		return explainReply(addr, user, password, string(s))
	}
	if wantsCertificate(err) { // TLS 1.3 tells it only now
		return a.explainDial(ctx, d, addr, err)
	}
	if a.tls == nil && a.network == "tcp" && !isTimeout(err) && speaksTLS(d, addr) {
		return fmt.Errorf("redis at %s speaks TLS: begin the URL with rediss:// and not redis://", addr)
	}
	var other alien
	if errors.As(err, &other) {
		return fmt.Errorf("at %s is not a Redis: correct the host and the port of the URL (%w)", addr, err)
	}
	if isTimeout(err) {
		return fmt.Errorf("redis at %s: connected, but nothing was answered in time: see whether it is Redis, and whether it is stopped or overloaded", addr)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		if a.tls != nil && len(a.tls.Certificates) == 0 {
			// Its reason is lost if the connection is reset before it was read.
			return fmt.Errorf("redis at %s closed the connection after the TLS handshake: if it wants a client's certificate, name one in the URL, ?cert=FILE&key=FILE (%w)", addr, err)
		}
		return fmt.Errorf("at %s the connection was closed without an answer: see whether it is Redis, and whether it has room for one more client (%w)", addr, err)
	}
	return fmt.Errorf("redis at %s: %w", addr, err)
}

func explainReply(addr, user string, password bool, text string) error {
	if user == "" {
		user = "default"
	}
	switch {
	case strings.HasPrefix(text, "WRONGPASS"):
		return fmt.Errorf("redis at %s refuses the password of user %q: correct the user and the password of the URL", addr, user)
	case strings.HasPrefix(text, "NOAUTH") && !password:
		return fmt.Errorf("redis at %s wants a password: write it in the URL, redis://:password@host or redis://user:password@host", addr)
	case strings.HasPrefix(text, "DENIED"):
		return fmt.Errorf("redis at %s is in protected mode: give it a password, or have it bind the right addresses", addr)
	case strings.HasPrefix(text, "ERR unknown command"):
		return tooOld(addr, "5 or older")
	case strings.HasPrefix(text, "ERR max number of clients"):
		return fmt.Errorf("redis at %s has no room for one more client: raise maxclients", addr)
	case strings.HasPrefix(text, "NOPERM"):
		return fmt.Errorf("redis at %s: user %q may not do what is needed: see the permissions it must have in the documentation (%s)", addr, user, text)
	}
	return fmt.Errorf("redis at %s refuses the connection: %s", addr, text)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// alerted returns what a TLS peer said when it ended the connection.
func alerted(err error) (string, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return "", false
	}
	return op.Err.Error(), true
}

// wantsCertificate reports whether a TLS peer ended the handshake because the client has
// shown no certificate, or one it does not take.
func wantsCertificate(err error) bool {
	what, ok := alerted(err)
	return ok && (strings.Contains(what, "certificate") || strings.Contains(what, "handshake failure"))
}

// speaksPlain reports whether the server answers a PING that is not over TLS.
func (a *address) speaksPlain(d *dialer, addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), secondLook)
	defer cancel()
	conn, err := d.connect(ctx, addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = newWire(ctx, conn).do("PING")
	var s said
	return err == nil || errors.As(err, &s)
}

// speaksTLS reports whether the server answers a TLS handshake, whatever comes of it.
func speaksTLS(d *dialer, addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), secondLook)
	defer cancel()
	conn, err := d.connect(ctx, addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	// Nothing is sent over this connection, so it does not matter who is at its end.
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
	_, answered := alerted(err)
	return err == nil || answered
}
