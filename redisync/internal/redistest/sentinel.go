package redistest

import (
	"fmt"
	"strings"
)

// Sentinels watch one master.
type Sentinels struct {
	Nodes  []*Server
	Name   string // of the master
	master *Server
}

// StartSentinels starts n sentinels that watch master under the name given,
// with a majority as quorum, and give it up after 500 ms. It returns when they
// know each other and the master's replicas.
func StartSentinels(t T, name string, master *Server, n, replicas int) *Sentinels {
	t.Helper()
	s := &Sentinels{Name: name, master: master}
	o := Options{Config: []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", name, master.port, n/2+1),
		fmt.Sprintf("sentinel down-after-milliseconds %s 500", name),
		fmt.Sprintf("sentinel failover-timeout %s 2000", name),
	}}
	if p := master.options.Password; p != "" {
		o.Config = append(o.Config, fmt.Sprintf("sentinel auth-pass %s %s", name, p))
	}
	for range n {
		s.Nodes = append(s.Nodes, start(t, o, true, "--sentinel"))
	}
	for _, node := range s.Nodes {
		node.Wait("the sentinels know each other", func() bool {
			v, err := node.Do("SENTINEL", "MASTER", name)
			if err != nil {
				return false
			}
			text := fmt.Sprint(v)
			return strings.Contains(text, fmt.Sprintf("num-other-sentinels %d ", n-1)) &&
				strings.Contains(text, fmt.Sprintf("num-slaves %d ", replicas))
		})
	}
	return s
}

// URL returns the URL of the master as the sentinels have it.
func (s *Sentinels) URL() string {
	addrs := make([]string, len(s.Nodes))
	for i, node := range s.Nodes {
		addrs[i] = node.Addr()
	}
	return s.master.options.url(strings.Join(addrs, ","), nil) + "?master_set=" + s.Name
}

// Port returns the port of the master as the sentinels have it now.
func (s *Sentinels) Port() string {
	for _, node := range s.Nodes {
		if v, err := node.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name); err == nil && v != nil {
			return v.([]any)[1].(string)
		}
	}
	return ""
}
