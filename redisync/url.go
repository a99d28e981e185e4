package redisync

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// address is where Redis is, as a URL says:
//
//	redis://[[user]:password@]host[:port][,host[:port]...][/db][?option&...]
//	rediss://...                            the same over TLS
//	unix://[[user]:password@]/path[?option&...]
//
// Several hosts are nodes of one cluster, or sentinels. valkey and valkeys stand for
// redis and rediss. The port is 6379 if none is given, 26379 for a sentinel. Options:
//
//	db                  number of the database, in place of /db
//	addr                one more host[:port]; may be repeated
//	master_set          the hosts are sentinels; the name of the master they watch
//	sentinel_user, sentinel_password    for the sentinels; user and password are for the master
//	ca                  file with the authorities that may sign the server's certificate; without it, the system's
//	cert, key           files with the client's certificate and its key
//	server_name         the name that the server's certificate is for, in place of the host
//	skip_verify=true    accepts every certificate: for trials only
type address struct {
	network  string // "tcp" or "unix"
	addrs    []string
	user     string
	password string
	db       int
	tls      *tls.Config // nil: not over TLS

	masterSet        string
	sentinelUser     string
	sentinelPassword string
}

// parseURL reads a URL. The error tells every fault, and never the password: where an @
// stands such that a password may have ended up in another part, it repeats nothing.
func parseURL(raw string) (*address, error) {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(raw), "://")
	if !ok {
		return nil, errors.New("a Redis URL begins with redis://, rediss:// or unix://, such as redis://localhost:6379")
	}
	a := &address{network: "tcp"}
	secure := false
	switch strings.ToLower(scheme) {
	case "redis", "valkey":
	case "rediss", "valkeys":
		secure = true
	case "unix":
		a.network = "unix"
	default:
		if strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz+") != "" || misplaced(raw) {
			return nil, errors.New("a Redis URL begins with redis://, rediss:// or unix://")
		}
		return nil, fmt.Errorf("a Redis URL with the scheme %q: it must be redis, rediss or unix", scheme)
	}
	a, err := a.read(rest, secure)
	if err != nil && misplaced(raw) {
		// Quoted texts would tell where the fault is, but perhaps the password too.
		return nil, errors.New("Redis URL: it cannot be read. In user and password write @ as %40, / as %2F, ? as %3F and % as %25; if that is so, look at hosts, database and options")
	}
	return a, err
}

// misplaced reports whether an @ stands where it does not end user and password, or
// ends ones that hold what separates parts.
func misplaced(raw string) bool {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		rest = raw
	}
	at := strings.IndexByte(rest, '@')
	return at >= 0 && (strings.ContainsAny(rest[:at], "/?#") || strings.Contains(rest[at+1:], "@"))
}

// read reads what follows the scheme.
func (a *address) read(rest string, secure bool) (*address, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("Redis URL: "+format, args...)) }

	rest, query, _ := strings.Cut(rest, "?")
	// A password may hold a slash, so user and password end at the last @ of all.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
		var err1, err2 error
		a.user, err1 = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			fault("user or password: a %% must be written as %%25")
		}
		if a.user != "" && a.password == "" {
			fault("a user without a password: write user:password@, or :password@ for the default user")
		}
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		fault("the options after ? cannot be read: write them as name=value&name=value, and %% as %%25")
	}
	o := optionsOf{options}
	a.masterSet, a.sentinelUser, a.sentinelPassword = o.take("master_set"), o.take("sentinel_user"), o.take("sentinel_password")
	db := o.take("db")
	if a.network == "unix" {
		if a.addrs = []string{rest}; !strings.HasPrefix(rest, "/") {
			fault("the socket's path must begin with /, as in unix:///run/redis.sock")
		}
	} else {
		hosts, path, _ := strings.Cut(rest, "/")
		if path != "" && db == "" {
			db = path
		}
		port := "6379"
		if a.masterSet != "" {
			port = "26379"
		}
		for _, h := range append(strings.Split(hosts, ","), o.all("addr")...) {
			addr, why := hostPort(h, port)
			if why != "" {
				fault("%s", why)
			}
			a.addrs = append(a.addrs, addr)
		}
	}
	if db != "" {
		if a.db, err = strconv.Atoi(db); err != nil || a.db < 0 {
			fault("the database is %q: it must be a number, as in redis://localhost:6379/0", db)
		}
	}
	if a.masterSet == "" && a.sentinelUser+a.sentinelPassword != "" {
		fault("sentinel_user and sentinel_password need master_set, the name of the master")
	}
	if err := a.readTLS(o, secure); err != nil {
		faults = append(faults, err)
	}
	for name := range options {
		fault("there is no option %q", name)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return a, nil
}

// optionsOf forgets what it was asked for: what is left are mistakes.
type optionsOf struct{ url.Values }

func (o optionsOf) take(name string) string {
	v := o.Get(name)
	o.Del(name)
	return v
}

func (o optionsOf) all(name string) []string {
	v := o.Values[name]
	o.Del(name)
	return v
}

// hostPort completes host[:port], or says what is wrong with it.
func hostPort(s, port string) (addr, why string) {
	host := s
	if strings.Contains(s, "@") {
		return s, "a host holds an @"
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		return s, "write an IPv6 address in brackets, as in [::1]:6379, and user:password before an @"
	}
	if host == "" {
		return s, "a host is missing, as in redis://localhost:6379"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return s, fmt.Sprintf("the port of host %q must be 1 to 65535", host) // what stands for it may be a password
	}
	return net.JoinHostPort(host, port), ""
}

func (a *address) readTLS(o optionsOf, secure bool) error {
	ca, cert, key, name, skip := o.take("ca"), o.take("cert"), o.take("key"), o.take("server_name"), o.take("skip_verify")
	if !secure {
		if ca+cert+key+name+skip != "" {
			return errors.New("Redis URL: ca, cert, key, server_name and skip_verify are for TLS: begin the URL with rediss://")
		}
		return nil
	}
	var faults []error
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	switch skip {
	case "", "false":
	case "true":
		c.InsecureSkipVerify = true
	default:
		faults = append(faults, fmt.Errorf("Redis URL: skip_verify is %q: it must be true or false", skip))
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err == nil {
			c.RootCAs = x509.NewCertPool()
			if !c.RootCAs.AppendCertsFromPEM(pem) {
				err = fmt.Errorf("%s holds no certificate in PEM form", ca)
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("Redis URL: ca: %w", err))
		}
	}
	if (cert == "") != (key == "") {
		faults = append(faults, errors.New("Redis URL: cert and key belong together: give both"))
	} else if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			faults = append(faults, fmt.Errorf("Redis URL: cert and key: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	a.tls = c
	return errors.Join(faults...)
}

// tlsFor returns the configuration for one host.
func (a *address) tlsFor(addr string) *tls.Config {
	if a.tls == nil || a.tls.ServerName != "" {
		return a.tls
	}
	c := a.tls.Clone()
	c.ServerName, _, _ = net.SplitHostPort(addr)
	return c
}
