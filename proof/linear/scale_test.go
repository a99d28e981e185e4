package linear

import (
	"flag"
	"os"
	"testing"
)

// histories is how many each test makes of each kind.
var histories = 1000

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		histories = 150
	}
	if raceEnabled {
		histories /= 6 // each takes that much longer
	}
	os.Exit(m.Run())
}
