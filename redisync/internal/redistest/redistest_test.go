package redistest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServerLosesItsDataWhenKilled(t *testing.T) {
	s := Start(t, Options{})
	s.Must("SET", "a", "1")
	require.Equal(t, "1", s.Text("GET", "a"))
	s.Kill()
	require.Zero(t, s.Pid())
	_, err := s.Do("PING")
	require.Error(t, err)
	s.Restart()
	require.Empty(t, s.Keys())
}

func TestServerWithAOFKeepsItsData(t *testing.T) {
	s := Start(t, Options{AOF: true, Password: "secret"})
	s.Must("SET", "a", "1")
	s.Kill()
	s.Restart()
	require.Equal(t, []string{"a"}, s.Keys())
}

func TestServerWithTLSAndUsers(t *testing.T) {
	s := Start(t, Options{TLS: true, ClientCert: true, Password: "secret", ACL: []string{"user app on >other ~* +@all"}})
	require.Equal(t, "PONG", s.Text("PING"))
	require.Contains(t, fmt.Sprint(s.Must("ACL", "LIST")), "user app on")
}

func TestFrozenServerAnswersAfterThaw(t *testing.T) {
	s := Start(t, Options{})
	s.Freeze()
	got := make(chan error, 1)
	go func() {
		_, err := s.Do("PING")
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("answered while frozen: %v", err)
	default:
	}
	s.Thaw()
	require.NoError(t, <-got)
}

func TestClusterMovesASlotAndFailsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("six servers")
	}
	c := StartCluster(t, 3, 1, Options{})
	owner := c.Owner("k")
	owner.Must("SET", "k", "1")
	other := c.Nodes[0]
	if other == owner {
		other = c.Nodes[1]
	}
	c.Migrate(c.Slot("k"), owner, other)
	require.Equal(t, other, c.Owner("k"))
	require.Equal(t, "1", other.Text("GET", "k"))
	c.Failover(c.Nodes[3])
}

func TestSentinelsNameTheMaster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	m := Start(t, Options{})
	StartReplica(t, m, Options{})
	s := StartSentinels(t, "main", m, 1, 1)
	require.Equal(t, fmt.Sprint(m.Port()), s.Port())
}
