package redisync

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// probeTimeout bounds the look at one server where the caller sets no shorter one.
const probeTimeout = 3 * time.Second

// oldest is the oldest version that will do: the first with HELLO and users. The
// script itself needs 5.0, the first that replicates what a script did and not its
// text, so that it may read the time.
const oldest = 6

// server is what a look at a Redis has found.
type server struct {
	addr    string
	version string
	mode    string // "standalone", "cluster" or "sentinel"
	replica bool
	owners  []slotOwner // in a cluster
}

// slotOwner is a run of slots with the address of their master.
type slotOwner struct {
	from, to int64
	addr     string
}

// survey looks at every address at once, and returns those servers that will do. The
// error, on one line, says of each of the others what to do about it; it is nil as soon
// as one will do.
func (a *address) survey(ctx context.Context, d *dialer) ([]server, error) {
	type found struct {
		s   server
		err error
	}
	user, password := a.user, a.password
	if a.masterSet != "" {
		user, password = a.sentinelUser, a.sentinelPassword
	}
	results := make([]chan found, len(a.addrs))
	for i, addr := range a.addrs {
		results[i] = make(chan found, 1)
		go func() {
			s, err := a.look(ctx, d, addr, user, password)
			if err == nil {
				err = a.fits(s)
			}
			results[i] <- found{s, err}
		}()
	}
	var good []server
	var faults []string
	for _, r := range results {
		if f := <-r; f.err != nil {
			faults = append(faults, f.err.Error())
		} else {
			good = append(good, f.s)
		}
	}
	if len(good) == 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return good, nil
}

// fits says what is wrong with a server that answers.
func (a *address) fits(s server) error {
	major, _, _ := strings.Cut(s.version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return tooOld(s.addr, s.version)
	}
	switch {
	case a.masterSet != "" && s.mode != "sentinel":
		return fmt.Errorf("redis at %s is no sentinel: give the sentinels' addresses, or leave out master_set", s.addr)
	case a.masterSet == "" && s.mode == "sentinel":
		return fmt.Errorf("redis at %s is a sentinel: add ?master_set=NAME to the URL, with the name of the master it watches", s.addr)
	case s.mode == "cluster" && a.db != 0:
		return fmt.Errorf("redis at %s is in a cluster, which has database 0 only: take database %d out of the URL", s.addr, a.db)
	case s.mode == "standalone" && a.masterSet == "" && len(a.addrs) > 1:
		return fmt.Errorf("redis at %s is not in a cluster: give its address alone, or sentinels' addresses with ?master_set=NAME", s.addr)
	case s.mode == "standalone" && s.replica:
		return fmt.Errorf("redis at %s is a replica, which is read-only: give the master's address, or sentinels' addresses with ?master_set=NAME", s.addr)
	}
	return nil
}

func tooOld(addr, version string) error {
	return fmt.Errorf("redis at %s is version %s, which is too old: use Redis %d.0 or newer, or Valkey", addr, version, oldest)
}

// look connects, introduces itself, and asks who is there.
func (a *address) look(ctx context.Context, d *dialer, addr, user, password string) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := d.open(ctx, addr)
	if err != nil {
		return server{}, a.explainDial(ctx, d, addr, err)
	}
	defer conn.Close()
	w := newWire(ctx, conn)
	hello := []string{"HELLO", "2"}
	if password != "" {
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, password)
	}
	v, err := w.do(hello...)
	if err != nil {
		return server{}, a.explain(ctx, d, addr, user, password != "", err)
	}
	list, ok := v.([]any)
	if !ok {
		return server{}, a.explain(ctx, d, addr, user, password != "", alien(fmt.Sprint(v)))
	}
	s := server{addr: addr, version: "unknown", mode: "standalone"}
	for i := 0; i+1 < len(list); i += 2 {
		value, _ := list[i+1].(string)
		switch list[i] {
		case "version":
			s.version = value
		case "mode":
			s.mode = value
		case "role":
			s.replica = value != "master"
		}
	}
	switch {
	case s.mode == "cluster":
		s.owners, err = clusterOwners(w)
		if err != nil {
			return server{}, a.explain(ctx, d, addr, user, password != "", err)
		}
	case s.mode == "sentinel" && a.masterSet != "":
		return s, a.lookBehind(ctx, d, w, s)
	}
	return s, nil
}

// lookBehind asks a sentinel for its master, and looks at that.
func (a *address) lookBehind(ctx context.Context, d *dialer, w *wire, s server) error {
	v, err := w.do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", a.masterSet)
	if err != nil {
		return a.explain(ctx, d, s.addr, a.sentinelUser, a.sentinelPassword != "", err)
	}
	at, ok := v.([]any)
	if !ok || len(at) != 2 {
		return fmt.Errorf("the sentinel at %s watches no master %q: correct master_set", s.addr, a.masterSet)
	}
	behind := *a
	behind.masterSet = ""
	behind.addrs = []string{net.JoinHostPort(fmt.Sprint(at[0]), fmt.Sprint(at[1]))}
	m, err := behind.look(ctx, d, behind.addrs[0], a.user, a.password)
	if err != nil {
		return err
	}
	if m.replica { // a failover is under way; the client follows it
		return nil
	}
	return behind.fits(m)
}

// clusterOwners asks who serves which slots.
func clusterOwners(w *wire) ([]slotOwner, error) {
	v, err := w.do("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	ranges, _ := v.([]any)
	owners := make([]slotOwner, 0, len(ranges))
	for _, r := range ranges {
		r, _ := r.([]any)
		if len(r) < 3 {
			continue
		}
		from, ok1 := r[0].(int64)
		to, ok2 := r[1].(int64)
		node, _ := r[2].([]any)
		if ok1 && ok2 && len(node) >= 2 {
			owners = append(owners, slotOwner{from, to, net.JoinHostPort(fmt.Sprint(node[0]), fmt.Sprint(node[1]))})
		}
	}
	return owners, nil
}

// Probe runs the script once on either connection, on a key of the prefix, and leaves
// nothing behind. The error says in one line what to do: the user may lack a permission,
// or the server may take no writes. It returns by ctx's deadline, or after 3 s.
func Probe(ctx context.Context, t Transport, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	call := Call{Key: NodesKey(prefix), Args: LeaveArgs{Node: "probe"}.Args()}
	replies := make([]Reply, 1)
	t.Sync(ctx, []Call{call}, replies)
	reply := replies[0]
	if reply.Err == nil {
		reply = t.Call(ctx, call)
	}
	err := reply.Err
	if err == nil {
		_, err = ParseHeartbeat(reply.Values)
		return err
	}
	switch {
	case strings.Contains(err.Error(), "non deterministic"):
		return fmt.Errorf("redis replicates scripts by their text, which this script cannot bear: set lua-replicate-commands yes, or use Redis 7 (%w)", err)
	case strings.Contains(err.Error(), "NOPERM"), strings.Contains(err.Error(), "can't run this command"):
		return fmt.Errorf("the user of the Redis URL may not do what is needed: give it ~%s:* +@scripting +@hash +@sortedset +@string +@keyspace +@connection +time, and in a cluster +cluster (%w)", prefix, err)
	case errors.Is(err, ErrReadOnly):
		return fmt.Errorf("redis takes no writes: give the master's address, or sentinels' addresses with ?master_set=NAME (%w)", err)
	case errors.Is(err, ErrBusy):
		return fmt.Errorf("redis does not serve yet: try again once it does (%w)", err)
	case errors.Is(err, ErrMoved):
		return fmt.Errorf("the cluster does not serve all slots: repair it, see CLUSTER INFO (%w)", err)
	case errors.Is(err, ErrRefused):
		return fmt.Errorf("redis refuses the script: %w", err)
	}
	return fmt.Errorf("redis does not answer a first call: see whether it is overloaded or stopped (%w)", err)
}
