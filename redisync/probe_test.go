package redisync

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// refuses dials a URL and requires an error of one line, soon, with what is wanted and
// without the password.
func refuses(t *testing.T, url string, want ...string) {
	t.Helper()
	start := time.Now()
	c, err := Dial(soon(t, 10*time.Second), url)
	if err == nil {
		err = Probe(soon(t, 5*time.Second), c, "tickgate")
		c.Close()
	}
	require.Error(t, err)
	for _, w := range want {
		require.ErrorContains(t, err, w)
	}
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "hunter2")
	require.Less(t, time.Since(start), 7*time.Second)
	t.Log(err)
}

// fake is a server that says the same to everybody: nothing for "".
func fake(t *testing.T, says string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				if says == "close" {
					c.Close()
					return
				}
				for in := bufio.NewReader(c); ; {
					if line, err := in.ReadString('\n'); err != nil {
						return
					} else if strings.HasPrefix(line, "*") && says != "" {
						fmt.Fprint(c, says)
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestStartRefusesTheWrongPassword(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{Password: "right"})
	refuses(t, "redis://:hunter2@"+srv.Addr(), "refuses the password", srv.Addr())
	refuses(t, "redis://nobody:hunter2@"+srv.Addr(), `user "nobody"`)
	refuses(t, "redis://"+srv.Addr(), "wants a password")
	dialed(t, srv.URL())
}

func TestStartRefusesAnEmptyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	refuses(t, "redis://"+l.Addr().String(), "nobody listens there", "correct the host and the port")
	refuses(t, "rediss://"+l.Addr().String(), "nobody listens there")
	refuses(t, "unix:///none/redis.sock", "no such socket")
}

func TestStartRefusesTLSOnOneSide(t *testing.T) {
	t.Parallel()
	plain := redistest.Start(t, redistest.Options{})
	refuses(t, "rediss://"+plain.Addr(), "does not speak TLS", "redis://")
	secure := redistest.Start(t, redistest.Options{TLS: true, ClientCert: true})
	refuses(t, "redis://"+secure.Addr(), "speaks TLS", "rediss://")
	refuses(t, "rediss://"+secure.Addr(), "unknown authority", "?ca=FILE")
	refuses(t, "rediss://"+secure.Addr()+"?ca="+secure.CAFile(), "client's certificate", "cert=FILE")
	refuses(t, secure.URL()+"&server_name=elsewhere", "another name")
	dialed(t, secure.URL())
}

func TestStartRefusesWhatIsNoRedis(t *testing.T) {
	t.Parallel()
	refuses(t, "redis://"+fake(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "is not a Redis")
	refuses(t, "redis://"+fake(t, "+OK mail\r\n"), "is not a Redis")
	refuses(t, "redis://"+fake(t, "close"), "closed without an answer")
}

func TestStartRefusesASilentServer(t *testing.T) {
	t.Parallel()
	refuses(t, "redis://"+fake(t, ""), "nothing was answered")
	srv := redistest.Start(t, redistest.Options{})
	srv.Freeze()
	defer srv.Thaw()
	start := time.Now()
	_, err := Dial(soon(t, 300*time.Millisecond), srv.URL())
	require.ErrorContains(t, err, "stopped or overloaded")
	require.Less(t, time.Since(start), time.Second, "by the caller's deadline")
}

func TestStartRefusesAnOldRedis(t *testing.T) {
	refuses(t, "redis://"+fake(t, "-ERR unknown command `HELLO`, with args beginning with: `2`, \r\n"), "too old", "6.0")
	refuses(t, "redis://"+fake(t, "*4\r\n$7\r\nversion\r\n$6\r\n5.0.14\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"), "5.0.14", "too old")
}

func TestStartRefusesAReplica(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.Options{})
	replica := redistest.StartReplica(t, master, redistest.Options{})
	refuses(t, replica.URL(), "is a replica", "master's address")
	refuses(t, "redis://"+master.Addr()+","+replica.Addr(), "not in a cluster")
}

func TestStartRefusesTheWrongSentinels(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("two servers")
	}
	master := redistest.Start(t, redistest.Options{Password: "right"})
	s := redistest.StartSentinels(t, "main", master, 1, 0)
	at := s.Nodes[0].Addr()
	refuses(t, "redis://"+at, "is a sentinel", "master_set=NAME")
	refuses(t, "redis://:right@"+at+"?master_set=other", "watches no master \"other\"")
	refuses(t, "redis://:right@"+master.Addr()+"?master_set=main", "if it is no sentinel")
	open := redistest.Start(t, redistest.Options{})
	refuses(t, "redis://"+open.Addr()+"?master_set=main", "is no sentinel")
	refuses(t, "redis://:hunter2@"+at+"?master_set=main", "refuses the password", master.Addr())
	dialed(t, s.URL())
}

func TestStartRefusesMissingPermissions(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{Password: "right", ACL: []string{
		"user keys on >p ~other:* +@all",
		"user commands on >p ~tickgate:* +ping",
		"user zrem on >p ~tickgate:* +@all -zrem",
		"user app on >p ~tickgate:* +@scripting +@hash +@sortedset +@string +@keyspace +@connection +time",
	}})
	refuses(t, "redis://keys:p@"+srv.Addr(), "~tickgate:*", "+@scripting")
	refuses(t, "redis://commands:p@"+srv.Addr(), "+@scripting")
	refuses(t, "redis://zrem:p@"+srv.Addr(), "+@sortedset")
	c := dialed(t, "redis://app:p@"+srv.Addr())
	syncs(t, c, credits(3))
	key, mark := LeaseKey("tickgate", "e", "l", "x")
	replies := make([]Reply, 1)
	for _, call := range []Call{
		{Key: mark, Args: MarkArgs{Age: 1 << 40, TTL: MarkTTL}.Args()},
		{Key: key, Mark: mark, Args: leaseOf(quick, 3).Args()},
		{Key: NodesKey("tickgate"), Args: HeartbeatArgs{Node: "node1", TTL: 1_000}.Args()},
	} {
		c.Sync(soon(t, time.Second), []Call{call}, replies)
		require.NoError(t, replies[0].Err)
	}
}

func TestProbeSaysWhatTheServerLacks(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	other := redistest.Start(t, redistest.Options{})
	srv.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(other.Port()))
	require.ErrorContains(t, Probe(context.Background(), c, "tickgate"), "takes no writes")
	srv.Must("REPLICAOF", "NO", "ONE")
	srv.Must("FUNCTION", "FLUSH")
	require.NoError(t, Probe(context.Background(), c, "tickgate"))
	srv.Freeze()
	start := time.Now()
	require.ErrorContains(t, Probe(soon(t, 100*time.Millisecond), c, "tickgate"), "does not answer a first call")
	require.Less(t, time.Since(start), time.Second)
	srv.Thaw()
}
