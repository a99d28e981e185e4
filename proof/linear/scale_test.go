package linear

import (
	"flag"
	"os"
	"testing"
	"time"
)

// histories is how many each test makes of each kind, few how many of those that are
// harder to judge, or have many calls.
var histories, few = 400, 150

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		histories, few = 150, 60
	}
	if raceEnabled {
		histories, few = histories/6, few/3 // each takes that much longer
	}
	if os.Getenv(seedVar) != "" {
		patience = time.Second // calls overlap much more, and a few histories are too hard
	}
	os.Exit(m.Run())
}
