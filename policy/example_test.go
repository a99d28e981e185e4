package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/tickgate/tickgate/policy"
)

func ExampleParseLimit() {
	for _, s := range []string{"100/s", "5/60s", "6000/minute burst=200", "10r/s rolling", "10-S", "deny"} {
		l, err := policy.ParseLimit(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-22s %-17s capacity %d\n", s, l, l.Capacity())
	}
	// Output:
	// 100/s                  100/s             capacity 100
	// 5/60s                  5/m               capacity 5
	// 6000/minute burst=200  6000/m burst=200  capacity 200
	// 10r/s rolling          10/s rolling      capacity 10
	// 10-S                   10/s              capacity 10
	// deny                   deny              capacity 0
}

func ExampleParsePolicies() {
	set, err := policy.ParsePolicies(strings.NewReader(`[
	  {"endpoint": "order.new", "limits": ["100/s burst=20", {"name": "burst", "tokens": 10, "per": "s", "window": "rolling"}]},
	  {"endpoint": "default", "limits": ["50/s"], "credit": 5}
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := json.Marshal(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(out))
	// Output:
	// [{"endpoint":"order.new","limits":["100/s burst=20","10/s rolling name=burst"]},{"endpoint":"default","limits":["50/s"],"credit":5}]
}

func ExampleParsePolicies_faults() {
	_, err := policy.ParsePolicies(strings.NewReader(`[
  {"endpoint": "order.new", "limits": [{"tokens": 0, "per": "s"}]},
  {"endpoint": "order.new", "limits": ["100/s"], "credits": 5}
]`))
	fmt.Println(err)
	// Output:
	// line 2, column 51: policies[0](order.new).limits[0].tokens = 0: must be above zero
	// line 3, column 16: policies[1](order.new).endpoint = "order.new": listed twice, first in policies[0]; keep one
	// line 3, column 50: policies[1](order.new).credits = 5: unknown key; the keys are endpoint, limits, credit, shadow
}

func ExampleFromEnv() {
	environment := map[string]string{"MEM_RATE_LIMIT_INGEST": "200/hour", "MEM_RATE_LIMIT_BURST": "20"}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok } // os.LookupEnv
	set, err := policy.FromEnv(policy.MemoryAPI(), lookup)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	ingest, _ := set.Lookup(policy.MemoryIngest)
	fmt.Println(ingest.Limits)
	// Output:
	// [200/h name=hour 20/s rolling name=burst]
}

func ExampleParseAssign() {
	endpoint, l, err := policy.ParseAssign("order.new=100/s burst=20")
	if err != nil {
		fmt.Println(err)
		return
	}
	set := policy.Default().With(policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{l}})
	p, ok := set.Lookup("order.new")
	fmt.Println(p.Limits, ok)
	// Output:
	// [100/s burst=20] true
}
